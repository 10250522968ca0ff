package algo

import (
	"math"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

func TestPassAtKGain(t *testing.T) {
	for _, c := range []struct {
		name   string
		k      int
		reward []float64
		want   []float64
	}{
		{"one success beats any other: k = 2", 2, []float64{1, 0, 0, 0}, []float64{1, 0, 0, 0}},
		{"two successes: alone among two of three pairs", 2, []float64{1, 0, 1, 0}, []float64{2. / 3, 0, 2. / 3, 0}},
		{"k = 3: among one of three sets", 3, []float64{1, 0, 1, 0}, []float64{1. / 3, 0, 1. / 3, 0}},
		{"k = n: the lead of the best", 4, []float64{2, 3, 0, 0}, []float64{0, 1, 0, 0}},
		{"k = n: no lead, no gain", 4, []float64{3, 3, 0, 0}, []float64{0, 0, 0, 0}},
		{"rewards of any size", 2, []float64{0, 1, 4}, []float64{0, .5, 3.5}},
		{"a constant has no winner", 2, []float64{.1, .1, .1}, []float64{0, 0, 0}},
		{"fewer than k compare all there are", 4, []float64{2, 5}, []float64{0, 3}},
		{"alone", 2, []float64{2}, []float64{0}},
	} {
		got := make([]float64, len(c.reward))
		PassAtKGain(got, c.reward, c.k)
		near(t, c.name, got, c.want...)
	}
}

// The formula against its definition, over all sets.
func TestPassAtKGainIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reward := rapid.SliceOfN(rapid.Float64Range(-5, 5), 2, 9).Draw(t, "rewards")
		k := rapid.IntRange(2, len(reward)).Draw(t, "k")
		got := make([]float64, len(reward))
		PassAtKGain(got, reward, k)
		for i, r := range reward {
			var sum float64
			sets := 0
			for set := range uint(1 << len(reward)) {
				if set>>i&1 == 1 || bits.OnesCount(set) != k-1 {
					continue
				}
				most := math.Inf(-1)
				for j, other := range reward {
					if set>>j&1 == 1 {
						most = max(most, other)
					}
				}
				sets++
				sum += max(r, most) - most
			}
			if want := sum / float64(sets); math.Abs(got[i]-want) > 1e-12 {
				t.Fatalf("rollout %d of %v, k = %d: %v; want %v", i, reward, k, got[i], want)
			}
		}
	})
}

// A policy succeeds with probability p. Over everything that n rollouts may do, k/n · Σ A·∇log π has the mean
// d/dp (1 − (1−p)^k): the gradient of pass@k itself.
func TestPassAtKGainClimbsPassAtK(t *testing.T) {
	const n = 6
	for k := 2; k <= n; k++ {
		for _, p := range []float64{.05, .3, .8} {
			var mean float64
			for solved := range uint(1 << n) {
				reward, advantage := make([]float64, n), make([]float64, n)
				chance := 1.0
				for i := range reward {
					reward[i] = float64(solved >> i & 1)
					chance *= reward[i]*p + (1-reward[i])*(1-p)
				}
				PassAtKGain(advantage, reward, k)
				for i, a := range advantage {
					score := reward[i]/p - (1-reward[i])/(1-p)
					mean += chance * a * score * float64(k) / n
				}
			}
			nearly(t, "gradient", mean, float64(k)*math.Pow(1-p, float64(k-1)))
		}
	}
}

// It is an estimator like the others, and skips what has no difference.
func TestPassAtKIsAnEstimator(t *testing.T) {
	c := Default()
	c.Advantage.Estimator, c.Advantage.K = "pass_at_k", 2
	equal(t, "skips flat groups", c.SkipsFlat(), true)
	b := Batch{Reward: []float64{1, 0, 1, 0, 7, 7}, Group: []int64{1, 1, 1, 1, 2, 2}, Rollout: []int{0, 1, 2, 3, 4, 5}}
	advantage := make([][]float32, 6)
	for r := range advantage {
		b.Action, advantage[r] = append(b.Action, mask(1)), make([]float32, 1)
	}
	Advantages(advantage, b, c.Advantage, 0)
	for r, want := range []float64{2. / 3, 0, 2. / 3, 0, 0, 0} {
		near(t, "by group", advantage[r], want)
	}
}
