package metrics

import (
	"strings"
	"testing"
	"time"
)

// TestBlockOfASecondRun: a run that follows another on the same terminal has a live block too.
func TestBlockOfASecondRun(t *testing.T) {
	p := progress{style: Style{Live: true}}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, e := range []Event{
		RunStarted{Plan: Plan{SFTSteps: 1}}, SFTStep{Step: 1, Tokens: 8, WallSeconds: 1}, RunEnded{Outcome: "finished"},
		RunStarted{Plan: Plan{Steps: 4}}, StepDone{Step: 1, WallSeconds: 1},
	} {
		p.apply(Record{Seq: int64(i + 1), Time: at.Add(time.Duration(i) * time.Second), Leg: 1, Event: e})
	}
	if block := strings.Join(p.block(at.Add(5*time.Second), 80, 24), "\n"); !strings.Contains(block, "1/4") {
		t.Errorf("the block of the second run is %q", block)
	}
}
