package algo

import (
	"math/rand/v2"
	"testing"
)

// The whole room on a million action tokens: GRPO, geometric correction, PPO clip, statistics.
func BenchmarkMillionTokens(b *testing.B) {
	const segments, length = 1000, 1000
	r := rand.New(rand.NewPCG(1, 2))
	batch := Batch{}
	advantage := make([][]float32, segments)
	in := Tokens{Starts: []int32{0}, Weight: make([]float32, segments*length)}
	for s := range segments {
		batch.Reward = append(batch.Reward, float64(r.IntN(2)))
		batch.Group = append(batch.Group, int64(s/8))
		batch.Rollout = append(batch.Rollout, s)
		action := make([]bool, length)
		for i := range action {
			action[i] = true
			old := -5 * r.Float32()
			in.LogpOld = append(in.LogpOld, old)
			in.LogpNew = append(in.LogpNew, old+.4*(r.Float32()-.5))
			in.LogpGen = append(in.LogpGen, old+.02*(r.Float32()-.5))
		}
		batch.Action = append(batch.Action, action)
		advantage[s] = make([]float32, length)
		in.Starts = append(in.Starts, int32((s+1)*length))
	}
	c := Default()
	c.Correction = CorrectionConfig{"geometric", "mask", .99, 1.01}
	dLogp := make([]float32, segments*length)

	b.ReportAllocs()
	for b.Loop() {
		Advantages(advantage, batch, c.Advantage, 0)
		in.Advantage = in.Advantage[:0]
		for s := range advantage {
			in.Advantage = Gather(in.Advantage, advantage[s], batch.Action[s])
		}
		Correct(in.Weight, in, c.Correction)
		PolicyLoss(dLogp, in, c.Loss, segments*length)
	}
	b.ReportMetric(float64(segments*length)*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
