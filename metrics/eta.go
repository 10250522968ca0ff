// How long the rest of a phase will take.

package metrics

import "time"

// pace remembers when steps ended. Steps change their length while a policy learns, and evaluations fall between them,
// so the estimate looks at the newer half of what this leg has done.
type pace struct {
	ends []time.Time // the start of the phase, then the end of each step
}

func (p *pace) start(t time.Time) { p.ends = []time.Time{t} }

func (p *pace) step(t time.Time) {
	if len(p.ends) == 0 {
		p.start(t)
		return
	}
	p.ends = append(p.ends, t)
}

// left estimates the time until n more steps are done, as of now. ok is false before two steps: there is nothing to
// extrapolate from.
func (p *pace) left(n int64, now time.Time) (left time.Duration, ok bool) {
	steps := len(p.ends) - 1
	if steps < 2 || n < 0 {
		return 0, false
	}
	newer := (steps + 1) / 2
	last := p.ends[steps]
	each := last.Sub(p.ends[steps-newer]) / time.Duration(newer)
	return max(0, time.Duration(n)*each-now.Sub(last)), true
}
