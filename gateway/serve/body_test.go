package serve

import (
	"io"
	"strings"
	"testing"

	"molt/gateway/capture"
	"molt/gateway/script"
)

// TestBodiesAreBoundedTogether: what is being sent at once has a bound, a client that only announces much takes up little, and
// everything is given back.
func TestBodiesAreBoundedTogether(t *testing.T) {
	l := newLab(t, []script.Line{{Text: "ok", Loop: true}}, func(c *Config, _ *capture.Config) { c.Body, c.Bodies = 8<<20, 12<<20 })
	path := "/s/" + l.session.Key + "/v1/chat/completions"
	whole := func(bytes int) string {
		return `{"messages":[{"role":"user","content":"hi"}],"unread":"` + strings.Repeat("x", bytes) + `"}`
	}
	var open []*io.PipeWriter
	answers := make(chan int, 2) // holds the statuses of the two that wait
	for range 2 {
		r, w := io.Pipe()
		open = append(open, w)
		go func() {
			response := l.send("POST", path, r)
			response.Body.Close()
			answers <- response.StatusCode
		}()
		if _, err := io.WriteString(w, whole(3 << 20)[:3<<20]); err != nil {
			t.Fatal(err)
		}
	}
	for l.server.bodies.Load() < 6<<20 { // until both have come
		if status, _ := l.do("POST", path, whole(10)); status != 200 {
			t.Fatalf("a small one: %d", status)
		}
	}
	status, body := l.do("POST", path, whole(7<<20))
	if status != 503 || !strings.Contains(body, "too much is being sent at once") {
		t.Errorf("%d %s", status, body)
	}
	for _, w := range open {
		if _, err := io.WriteString(w, whole(3 << 20)[3<<20:]); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if status := <-answers; status != 200 {
			t.Errorf("one that waited: %d", status)
		}
	}
	if status, _ := l.do("POST", path, whole(7<<20)); status != 200 {
		t.Errorf("afterwards: %d", status)
	}
	if left := l.server.bodies.Load(); left != 0 {
		t.Errorf("%d bytes are still counted", left)
	}
}
