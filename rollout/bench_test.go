package rollout

import (
	"context"
	"testing"

	"molt/agent"
	"molt/traj"
)

// BenchmarkRollout measures what the framework adds to a rollout whose agent takes no time: scheduling, a goroutine, and
// all checks on 4 turns of 32 observed and 16 sampled tokens. The goal is 1 ms for each turn.
func BenchmarkRollout(b *testing.B) {
	c := Defaults()
	c.Vocab = 100
	c.Sched.MaxLag = 1
	const turns = 4
	d, err := New(c, runner(func(_ context.Context, job agent.Job) *traj.Rollout { return episode(job, turns) }), &numbers{n: 1 << 40}, 0)
	if err != nil {
		b.Fatal(err)
	}
	stop := running(d)
	rollouts := 0
	for b.Loop() {
		batch, err := d.Next(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for _, g := range batch.Groups {
			rollouts += len(g.Rollouts)
		}
		if err := d.Publish(b.Context(), 0, func(context.Context) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	perRollout := float64(b.Elapsed().Nanoseconds()) / float64(rollouts)
	b.ReportMetric(perRollout, "ns/rollout")
	b.ReportMetric(perRollout/turns, "ns/turn")
	if err := stop(); err != nil {
		b.Fatal(err)
	}
}

func episode(job agent.Job, turns int) *traj.Rollout {
	r := &traj.Rollout{Group: job.Group, Sample: job.Sample, Attempt: job.Attempt, Outcome: traj.Completed, Reward: 1, Score: 1}
	for i := range turns {
		n := traj.Node{Parent: i - 1, Observation: make([]int32, 32), Sampled: make([]int32, 16), LogpGen: make([]float32, 16),
			Version: make([]traj.Version, 16), Temperature: 1, Finish: traj.FinishStop}
		for t := range n.LogpGen {
			n.Sampled[t], n.LogpGen[t] = int32(t), -0.5
		}
		r.Nodes = append(r.Nodes, n)
	}
	return r
}
