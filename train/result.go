// What one batch did.

package train

import (
	"molt/algo"
	"molt/engine"
	"molt/traj"
)

// Result describes one batch. Rewards are counted by rollout, never by segment.
type Result struct {
	Version   traj.Version        // of the policy afterwards
	Before    traj.Version        // of the policy at the start
	Rewards   algo.RewardStats    // clipped, before anything else is made of them
	Advantage algo.AdvantageStats //
	Loss      algo.LossStats      // over all optimizer steps
	Mismatch  algo.MismatchStats  // LogpOld against LogpGen; where nothing reads LogpOld, LogpNew
	Lags      algo.LagStats       // the same for the tokens of each lag, with their weights
	Reference algo.KLStats        // LogpNew against LogpRef, or LogpOld where the KL is in the reward; zero without a reference
	KLCoef    float64             // used in this batch
	Entropy   float64             // mean in nats; 0 unless a bonus was wanted

	Steps  Steps // of the policy
	Idle   int   // mini-batches in which no token had a gradient: no step was taken
	Frozen bool  // the critic learned alone
	Critic CriticResult

	Actions  int        // action tokens of the batch
	Tokens   int        // all tokens that went through a pass of the policy with gradient
	Segments []*Segment // every segment, with what each token got

	entropySum float64
}

// NonFinite counts tokens that were left out somewhere because a number of theirs is not finite. A healthy run has none.
func (r *Result) NonFinite() int {
	return r.Advantage.NonFinite + r.Loss.NonFinite + r.Mismatch.NonFinite + r.Reference.NonFinite + r.Critic.Foresaw.NonFinite + r.Critic.Loss.NonFinite
}

// CriticResult describes what a batch did to the critic; zero without one.
type CriticResult struct {
	Foresaw algo.ValueStats // the values that the advantages were computed from, beside what they should have been
	Loss    algo.ValueStats // over all optimizer steps
	Steps   Steps
}

// Steps describes the optimizer steps that a learner took on a batch.
type Steps struct {
	Updates  int     // steps taken
	Skipped  int     // steps whose gradient norm was not finite: nothing changed
	GradNorm float64 // mean over the steps taken, before clipping
	LR       float64 // of the last step
}

// add notes one step.
func (s *Steps) add(step engine.StepResult, lr float64) {
	s.LR = lr
	if step.Skipped {
		s.Skipped++
		return
	}
	s.Updates++
	s.GradNorm += (step.GradNorm - s.GradNorm) / float64(s.Updates)
}

// begin describes the batch before anything is learned from it.
func (t *Trainer) begin(b *batch) *Result {
	res := &Result{Before: t.state.Version, KLCoef: t.state.KL, Frozen: t.frozen(), Rewards: b.clipped(t.cfg), Segments: b.segments}
	for _, r := range b.rollouts {
		res.Actions += int(r.actions)
	}
	return res
}

func (r *Result) finish(version traj.Version) *Result {
	r.Version = version
	if r.Loss.Tokens > 0 {
		r.Entropy = r.entropySum / float64(r.Loss.Tokens)
	}
	return r
}
