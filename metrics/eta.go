// How long the rest of a phase will take.

package metrics

import "time"

// pace remembers when steps ended. Steps change their length while a policy learns, and evaluations fall between them,
// so the estimate looks at the newer half of what this leg has done.
type pace []mark

// mark is the end of a step. Not every step has one: short ones are told about now and then.
type mark struct {
	step int64
	at   time.Time
}

func (p *pace) ended(step int64, at time.Time) { *p = append(*p, mark{step, at}) }

// left estimates the time until n more steps are done, as of now. ok is false before two marks: there is nothing to
// extrapolate from.
func (p pace) left(n int64, now time.Time) (left time.Duration, ok bool) {
	if len(p) < 2 || n < 0 {
		return 0, false
	}
	from, last := p[(len(p)-1)/2], p[len(p)-1]
	if last.step <= from.step {
		return 0, false
	}
	each := last.at.Sub(from.at) / time.Duration(last.step-from.step)
	return max(0, time.Duration(n)*each-now.Sub(last.at)), true
}
