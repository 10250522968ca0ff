package leg

import "testing"

func TestRoughly(t *testing.T) {
	for seconds, want := range map[float64]string{
		0.1: "a few seconds", 12: "about 10 s", 57: "about 60 s", 100: "about 2 min", 3600: "about 60 min", 6000: "about 2 h", 200_000: "about 2 days",
	} {
		if got := roughly(seconds); got != want {
			t.Errorf("%v s: %s, want %s", seconds, got, want)
		}
	}
}
