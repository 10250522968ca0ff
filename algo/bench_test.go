package algo

import (
	"math/rand/v2"
	"syscall"
	"testing"
)

// The whole room on a million action tokens: GRPO, geometric correction, PPO clip, statistics.
//
//	go test -run '^$' -bench MillionTokens -cpu 1 ./algo
//
// cpu-ms is the time of this process alone, which other work on the machine does not change.
func BenchmarkMillionTokens(b *testing.B) {
	const segments, length = 1000, 1000
	w := newWorkload(segments, length)
	b.ReportAllocs()
	start := cpuSeconds(b)
	for b.Loop() {
		w.run()
	}
	n := float64(b.N)
	b.ReportMetric((cpuSeconds(b)-start)*1e3/n, "cpu-ms")
	b.ReportMetric(segments*length*n/b.Elapsed().Seconds(), "tokens/s")
}

// No part of the room allocates by the token: ten times as many in the same segments take as many allocations.
func TestAllocationsDoNotGrowWithTokens(t *testing.T) {
	short, long := newWorkload(16, 10), newWorkload(16, 100)
	a, b := testing.AllocsPerRun(5, short.run), testing.AllocsPerRun(5, long.run)
	if a != b {
		t.Errorf("%v allocations for 160 tokens, %v for 1600", a, b)
	}
}

type workload struct {
	batch     Batch
	advantage [][]float32
	in        Tokens
	dLogp     []float32
	cfg       Config
}

func newWorkload(segments, length int) *workload {
	r := rand.New(rand.NewPCG(1, 2))
	w := &workload{cfg: Default(), dLogp: make([]float32, segments*length)}
	w.cfg.Correction = CorrectionConfig{"geometric", "mask", .99, 1.01}
	w.in = Tokens{Starts: []int32{0}, Weight: make([]float32, segments*length)}
	for s := range segments {
		w.batch.Reward = append(w.batch.Reward, float64(r.IntN(2)))
		w.batch.Group = append(w.batch.Group, int64(s/8))
		w.batch.Rollout = append(w.batch.Rollout, s)
		action := make([]bool, length)
		for i := range action {
			action[i] = true
			old := -5 * r.Float32()
			w.in.LogpOld = append(w.in.LogpOld, old)
			w.in.LogpNew = append(w.in.LogpNew, old+.4*(r.Float32()-.5))
			w.in.LogpGen = append(w.in.LogpGen, old+.02*(r.Float32()-.5))
		}
		w.batch.Action = append(w.batch.Action, action)
		w.advantage = append(w.advantage, make([]float32, length))
		w.in.Starts = append(w.in.Starts, int32((s+1)*length))
	}
	w.in.Advantage = make([]float32, 0, segments*length)
	return w
}

func (w *workload) run() {
	Advantages(w.advantage, w.batch, w.cfg.Advantage, 0)
	w.in.Advantage = w.in.Advantage[:0]
	for s := range w.advantage {
		w.in.Advantage = Gather(w.in.Advantage, w.advantage[s], w.batch.Action[s])
	}
	Correct(w.in.Weight, w.in, w.cfg.Correction)
	PolicyLoss(w.dLogp, w.in, w.cfg.Loss, float64(len(w.dLogp)))
}

func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(u.Utime) + seconds(u.Stime)
}
