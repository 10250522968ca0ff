// The same request again: a retry whose answer got lost, or a wish for another sample? No header tells; what its client has
// does.

package forest

import "molt/traj"

// Verdict says what to do with a request that was made before.
type Verdict uint8

const (
	Sample Verdict = iota // sample anew
	Replay                // give the turn's reply again
)

// Repeat decides about a request that ends at a point. asked are its sampling settings; retry says that its client calls it
// a retry. A reply that anything follows is never given again: its client had it.
func (f *Forest) Repeat(at int32, asked string, retry bool) (Verdict, int32) {
	answers := f.answers[at]
	if len(answers) == 0 {
		return Sample, -1
	}
	last := answers[len(answers)-1]
	t := &f.turns[last]
	complete := t.Finish == traj.FinishStop || t.Finish == traj.FinishLength
	if t.Asked == asked && complete && t.followers == 0 && !f.answered(t.Point) && (t.State == Lost || retry) {
		return Replay, last
	}
	return Sample, -1
}

// answered reports whether anything was sampled behind a point.
func (f *Forest) answered(at int32) bool { return len(f.answers[at]) > 0 }

// Observed returns the observation of a turn that answers a point, so that another one is shown the same ids.
func (f *Forest) Observed(at int32) (*Turn, bool) {
	if answers := f.answers[at]; len(answers) > 0 {
		return &f.turns[answers[0]], true
	}
	return nil, false
}
