package spell

import "testing"

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"ppo", "ppo", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"gpro", "grpo", 1}, {"ab", "bca", 3}, {"abcd", "badc", 2},
	} {
		if got, back := Distance(c.a, c.b), Distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q to %q is %d, and %d back; want %d", c.a, c.b, got, back, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"grpo", "gae", "temperature"}
	for name, want := range map[string]string{"gpro": "grpo", "gea": "gae", "temprature": "temperature", "ppo": "", "x": "", "": ""} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%q is nearest to %q, want %q", name, got, want)
		}
	}
	if got := DidYouMean("gpro", known) + DidYouMean("x", known); got != "; did you mean grpo?" {
		t.Errorf("got %q", got)
	}
}
