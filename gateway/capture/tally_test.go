package capture

import (
	"testing"
	"testing/synctest"
	"time"
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
