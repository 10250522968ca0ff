// How long a run would take: the arithmetic that it needs, by the speed of this machine. It is right within a factor of two or
// so where lengths are known, and a bound where they are not.

package leg

import (
	"fmt"

	"molt/run/machine"
)

// Effort is what a run computes.
type Effort struct {
	Parameters int64
	Trained    int64 // tokens that are learned from, counted as often as they are
	Scored     int64 // tokens that are only scored
	Generated  int64 // tokens that are sampled
	Threads    int
}

// Shares of the speed of a large matrix product that training and generating reach (molt bench).
const (
	trainingShare   = 0.6
	generatingShare = 0.15
)

// Seconds is the time that the effort takes here. A token costs two operations for each parameter forwards, four backwards.
func (e Effort) Seconds() float64 {
	work := float64(6*e.Trained+2*e.Scored)/trainingShare + float64(2*e.Generated)/generatingShare
	return work * float64(e.Parameters) / machine.Speed(e.Threads)
}

// roughly writes a time as people guess it.
func roughly(seconds float64) string {
	switch {
	case seconds < 10:
		return "a few seconds"
	case seconds < 90:
		return fmt.Sprintf("about %d s", 10*int(seconds/10+0.5))
	case seconds < 90*60:
		return fmt.Sprintf("about %.0f min", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("about %.0f h", seconds/3600)
	}
	return fmt.Sprintf("about %.0f days", seconds/(24*3600))
}
