package algo

import (
	"encoding/binary"
	"math"
	"testing"
)

// Any bits at all as log-probs, advantages and rewards: gradients, weights and statistics stay finite, and tokens off the
// mask stay at 0.
func FuzzHostileBits(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	f.Add([]byte{0, 0, 128, 127, 0, 0, 128, 255, 0, 0, 192, 127, 0, 0, 128, 63, 255, 255, 127, 127}, uint8(7))
	f.Add(make([]byte, 200), uint8(63))
	f.Fuzz(func(t *testing.T, bits []byte, pick uint8) {
		n := len(bits) / 20
		lane := func(k int) []float32 {
			out := make([]float32, n)
			for i := range out {
				out[i] = math.Float32frombits(binary.LittleEndian.Uint32(bits[4*(k*n+i):]))
			}
			return out
		}
		in := Tokens{LogpNew: lane(0), LogpOld: lane(1), LogpGen: lane(2), LogpRef: lane(3), Advantage: lane(4), Weight: make([]float32, n)}
		level, mode := Levels[int(pick)%len(Levels)], Modes[int(pick/4)%len(Modes)]
		loss, kl := Losses[int(pick/16)%len(Losses)], KLEstimators[int(pick/32)%len(KLEstimators)]

		m := Correct(in.Weight, in, CorrectionConfig{level.Name, mode.Name, .5, 5})
		allFinite(t, "weight", in.Weight...)
		d := make([]float32, n)
		in.Share, in.Lag = lane(2), make([]int32, n)
		for i := range in.Lag {
			in.Lag[i] = int32(math.Float32bits(in.LogpRef[i]))
		}
		WeighLag(in.Weight, in.Lag, LagConfig{Decay: .9})
		allFinite(t, "weight by lag", in.Weight...)
		lags := Lags(in)
		cfg := Default().Loss
		cfg.Name, cfg.DualClip = loss.Name, 3
		s := PolicyLoss(d, in, cfg, float64(n+1))
		k := KLLoss(d, in, kl.Name, .1, float64(n+1))
		in.Value, in.ValueOld, in.Return = lane(0), lane(1), lane(2)
		dValue := make([]float32, n)
		v := ValueLoss(dValue, in, Default().Value, float64(n+1))
		allFinite(t, "value gradient", dValue...)
		equal(t, "value statistics are finite", finite(v.Loss+v.Mean()+v.Explained()), true)
		equal(t, "lag statistics are finite", finite(lags[0].Mismatch.MeanKL3()+lags[16].Weight), true)
		allFinite(t, "gradient", d...)
		finiteStats(t, s)
		allFinite(t, "mismatch", float32(m.MeanKL1()), float32(m.MeanKL3()/1e13), float32(m.EffectiveShare()))
		allFinite(t, "KL", float32(k.Mean()))

		e := Estimators[int(pick)%len(Estimators)]
		b := Batch{Action: [][]bool{make([]bool, n)}, KL: [][]float32{lane(2)}, Value: [][]float32{lane(1)}, Return: [][]float32{lane(1)}, Rollout: []int{0}, Reward: []float64{0, 0}, Group: []int64{0, 0}}
		for i := range b.Action[0] {
			b.Action[0][i] = bits[i]%2 == 0
			b.Reward[i%2] = float64(in.Advantage[i])
		}
		a := [][]float32{lane(3)}
		Advantages(a, b, AdvantageConfig{Estimator: e.Name, Gamma: .9}, .1)
		allFinite(t, "advantage", a[0]...)
		for i, action := range b.Action[0] {
			if !action && a[0][i] != 0 {
				t.Fatalf("advantage %v off the mask", a[0][i])
			}
		}
	})
}

func allFinite(t *testing.T, what string, x ...float32) {
	t.Helper()
	for i, v := range x {
		if !finite(float64(v)) {
			t.Fatalf("%s: %v at %d", what, v, i)
		}
	}
}
