package capture

import (
	"testing"
	"testing/synctest"
	"time"

	"molt/chat"
)

func TestTally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		begin := time.Now()
		calls.wait(time.Minute)
		calls.add()
		calls.add()
		go func() {
			time.Sleep(time.Second)
			calls.done()
			time.Sleep(time.Second)
			calls.done()
		}()
		calls.wait(time.Minute)
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("it waited %v for two calls", took)
		}
		calls.add()
		calls.wait(time.Minute)
		if took := time.Since(begin); took != 2*time.Second+time.Minute {
			t.Errorf("it waited %v in all", took)
		}
		calls.done()
	})
}

// TestASessionWaitsForItsLastReply: a client has its reply before the server has noted that; the turn trains all the same.
func TestASessionWaitsForItsLastReply(t *testing.T) {
	w := newWorld(t, inOrder("one"), nil)
	call, p := w.session.Ask(t.Context(), request([]chat.Message{user("a")}, nil), Caller{})
	if p != nil {
		t.Fatal(p)
	}
	if _, p := call.Whole(t.Context()); p != nil {
		t.Fatal(p)
	}
	ended := make(chan error, 1) // holds what Close returned
	go func() { ended <- w.session.Close() }()
	select {
	case <-ended:
		t.Error("the session ended while its reply was being written")
		ended <- nil
	case <-time.After(50 * time.Millisecond):
	}
	call.Close(true)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := len(w.session.Select(earned)); n != 1 {
		t.Errorf("%d turns train", n)
	}
}
