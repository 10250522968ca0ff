// What one batch did.

package train

import (
	"molt/algo"
	"molt/engine"
	"molt/traj"
)

// Result describes one batch. Rewards are counted by rollout, never by segment.
type Result struct {
	Version   traj.Version        // of the learner afterwards
	Before    traj.Version        // of the learner at the start
	Rewards   algo.RewardStats    // clipped, before any shuffle
	Advantage algo.AdvantageStats //
	Loss      algo.LossStats      // over all optimizer steps
	Mismatch  algo.MismatchStats  // LogpOld against LogpGen
	Reference algo.KLStats        // LogpNew against LogpRef; zero without a reference
	KLCoef    float64             // used in this batch
	Entropy   float64             // mean in nats; 0 unless a bonus was wanted

	Updates  int     // optimizer steps taken
	Idle     int     // mini-batches in which no token had a gradient: no step was taken
	Skipped  int     // steps whose gradient norm was not finite: nothing changed
	GradNorm float64 // mean over the steps, before clipping
	LR       float64 // of the last step

	Actions int       // action tokens of the batch
	Tokens  int       // all tokens that went through a pass with gradient
	Samples []*Sample // every segment, with what each token got

	entropySum float64
	normSum    float64
}

// step notes one optimizer step.
func (r *Result) step(s engine.StepResult, lr float64) {
	r.LR = lr
	if s.Skipped {
		r.Skipped++
		return
	}
	r.Updates++
	r.normSum += s.GradNorm
}

func (r *Result) finish(version traj.Version) *Result {
	r.Version = version
	if r.Updates > 0 {
		r.GradNorm = r.normSum / float64(r.Updates)
	}
	if r.Loss.Tokens > 0 {
		r.Entropy = r.entropySum / float64(r.Loss.Tokens)
	}
	return r
}
