package algo

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTurnReturns(t *testing.T) {
	for _, c := range []struct {
		gamma  float64
		reward []float64
		want   []float64
	}{
		{1, []float64{1, 2, 4}, []float64{7, 6, 4}},
		{.5, []float64{1, 2, 4}, []float64{3, 4, 4}},
		{0, []float64{1, 2, 4}, []float64{1, 2, 4}}, // each turn for itself
		{.5, nil, nil},
	} {
		got := make([]float64, len(c.reward))
		TurnReturns(got, c.reward, c.gamma)
		near(t, "returns of turns", got, c.want...)
	}
}

// Two rollouts of one prompt: A earns 1 in its first turn and 0 in its second, B earns 0 and stops.
//
//	dr_grpo     turn 1: G = 1, 0, mean .5      turn 2: G = 0 and B's last 0, so nothing to learn from A's second turn
func turnBatch() (Batch, [][]float32) {
	b := Batch{
		Reward: []float64{1, 0}, Group: []int64{5, 5}, Rollout: []int{0, 1},
		Action:     [][]bool{mask(0, 1, 1, 0, 1), mask(1, 1)},
		Turn:       [][]int32{{-9, 0, 0, -9, 1}, {0, 0}},
		TurnReward: [][]float64{{1, 0}, {0}},
	}
	return b, [][]float32{repeat(nan, 5), repeat(nan, 2)}
}

func TestTurnsAreCreditedWithWhatFollows(t *testing.T) {
	b, a := turnBatch()
	Advantages(a, b, AdvantageConfig{Estimator: "dr_grpo", Gamma: 1, Turns: true, TurnGamma: 1}, 0)
	near(t, "dr_grpo, A", a[0], 0, .5, .5, 0, 0)
	near(t, "dr_grpo, B", a[1], -.5, -.5)

	b.TurnReward[0] = []float64{0, 1}
	Advantages(a, b, AdvantageConfig{Estimator: "dr_grpo", Gamma: 1, Turns: true, TurnGamma: .5}, 0)
	near(t, "half of what the second turn earned", a[0], 0, .25, .25, 0, .5)
	near(t, "B", a[1], -.25, -.25)

	b.TurnReward[0] = []float64{2, 1}
	cfg := AdvantageConfig{Estimator: "reinforce", Gamma: 1, Turns: true, TurnGamma: .5, NoWhiten: true}
	Advantages(a, b, cfg, 0)
	near(t, "reinforce, A", a[0], 0, 2.5, 2.5, 0, 1)
	cfg.Gamma = .5 // four positions, and a turn, lie between the last token and the second
	Advantages(a, b, cfg, 0)
	near(t, "reinforce, discounted by position too", a[0], 0, 1.0625, 2.125, 0, 1)

	b.Value = [][]float32{{9, .1, .2, 9, .3}, {0, 0}}
	cfg = AdvantageConfig{Estimator: "gae", Gamma: 1, Lambda: 0, Turns: true, TurnGamma: .5, NoWhiten: true}
	Advantages(a, b, cfg, 0)
	near(t, "gae, one step: the next turn's value is discounted", a[0], 0, .2-.1, 2+.5*.3-.2, 0, 1-.3)
}

// A reward on the last turn alone, not discounted, is what an estimator without turns sees.
func TestLastTurnAloneIsTheWholeReward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(Estimators).Draw(t, "estimator")
		gamma := 1.0
		if e.Discounts {
			gamma = rapid.SampledFrom([]float64{1, .9}).Draw(t, "gamma")
		}
		b := Batch{}
		var plain, turns [][]float32
		for r := range rapid.IntRange(1, 5).Draw(t, "rollouts") {
			b.Group, b.Rollout = append(b.Group, int64(r%2)), append(b.Rollout, r)
			b.Reward = append(b.Reward, rapid.Float64Range(-2, 2).Draw(t, "reward"))
			var action []bool
			var turn []int32
			n := rapid.IntRange(1, 4).Draw(t, "turns")
			for k := range n {
				action, turn = append(action, false, true, true), append(turn, -1, int32(k), int32(k))
			}
			b.Action, b.Turn = append(b.Action, action), append(b.Turn, turn)
			earned := make([]float64, n)
			earned[n-1] = b.Reward[r]
			b.TurnReward = append(b.TurnReward, earned)
			lane := rapid.SliceOfN(rapid.Float32Range(-1, 1), len(action), len(action))
			b.KL, b.Value = append(b.KL, lane.Draw(t, "kl")), append(b.Value, lane.Draw(t, "value"))
			plain, turns = append(plain, make([]float32, len(action))), append(turns, make([]float32, len(action)))
		}
		cfg := AdvantageConfig{Estimator: e.Name, Gamma: gamma, Lambda: .9, TurnGamma: 1}
		Advantages(plain, b, cfg, .1)
		cfg.Turns = true
		Advantages(turns, b, cfg, .1)
		for k := range plain {
			for i, v := range plain[k] {
				nearly(t, e.Name, float64(turns[k][i]), float64(v))
			}
		}
	})
}

// Turns lie in any of a rollout's segments; what the later segment earns reaches the earlier one.
func TestTurnsCrossSegments(t *testing.T) {
	b := Batch{
		Reward: []float64{3}, Group: []int64{0}, Rollout: []int{0, 0},
		Action: [][]bool{mask(1), mask(0, 1)}, Turn: [][]int32{{0}, {-1, 1}}, TurnReward: [][]float64{{1, 2}},
	}
	a := [][]float32{repeat(nan, 1), repeat(nan, 2)}
	Advantages(a, b, AdvantageConfig{Estimator: "reinforce", Gamma: 1, Turns: true, TurnGamma: 1, NoWhiten: true}, 0)
	near(t, "first", a[0], 3)
	near(t, "second", a[1], 0, 2)
}
