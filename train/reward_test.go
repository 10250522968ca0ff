package train

import (
	"math"
	"testing"

	"molt/engine/enginetest"
	"molt/traj"
)

// Rewards are shaped by the length of the whole rollout: the first has six action tokens in two segments, the other three.
func TestRewardsAreShaped(t *testing.T) {
	cfg := config()
	cfg.Reward.Scale = 2
	cfg.Reward.Length.Shape, cfg.Reward.Length.Max, cfg.Reward.Length.Buffer = "overlong", 7, 4
	groups := batchOf(t, []float64{1, 0.5})
	fork(t, groups[0].Rollouts[0])
	res, trainer := step(t, cfg, Models{Policy: enginetest.NewToy(toy)}, State{}, groups)
	// (1 − 3/4)·2 = 0.5 and 0.5·2 = 1: the shorter one is better now
	near(t, "advantage of the longer", res.Segments[0].Advantage, -0.25)
	near(t, "of its other segment", res.Segments[1].Advantage, -0.25)
	near(t, "of the shorter", res.Segments[2].Advantage, 0.25)
	if res.Rewards.Mean != 0.75 {
		t.Errorf("reported mean %v; want 0.75, as earned", res.Rewards.Mean)
	}
	if s := trainer.State().Rewards; s.Count != 2 || s.Mean != 0.75 {
		t.Errorf("seen %+v; want the two shaped rewards", s)
	}
}

// Running normalisation goes on where the last batch, or a checkpoint, left it.
func TestRewardsAreNormalisedByAllOfTheRun(t *testing.T) {
	cfg := config()
	cfg.Reward.Normalise = "running"
	learner := enginetest.NewToy(toy)
	cfg.LR = func(int64) float64 { return 0 }
	cfg.Exact = false // the weights stay and the version does not
	_, trainer := step(t, cfg, Models{Policy: learner}, State{}, batchOf(t, []float64{3, 5}))
	res, trainer := step(t, cfg, Models{Policy: learner}, trainer.State(), batchOf(t, []float64{1, 3}))
	// mean 3 and squares 4 + 4 over four rewards: std = sqrt(8/3)
	near(t, "advantage", res.Segments[0].Advantage, -1/math.Sqrt(8./3))
	if s := trainer.State().Rewards; s.Count != 4 || s.Mean != 3 {
		t.Errorf("seen %+v; want four rewards of mean 3", s)
	}
}

// twoTurns is a rollout that segments three ids, sees one, and segments three more.
func twoTurns(t *testing.T, number int, rewards ...float64) *traj.Rollout {
	t.Helper()
	r := sample(t, enginetest.NewScript(toy), 0, number, 0)
	first := r.Nodes[0]
	prompt := append(append([]int32{1, 2}, first.Sampled...), 4)
	r.Nodes = append(r.Nodes, turn(0, []int32{4}, tokens(t, enginetest.NewScript(toy), prompt, 1, number, 3)))
	for i := range r.Nodes {
		r.Nodes[i].Reward = rewards[i]
		r.Reward += rewards[i]
	}
	return r
}

func TestTurnsHaveRewardsOfTheirOwn(t *testing.T) {
	cfg := config()
	cfg.Advantage.Turns, cfg.Advantage.TurnGamma = true, 0.5
	g := &traj.Group{Rollouts: []*traj.Rollout{twoTurns(t, 0, 1, 0.5), twoTurns(t, 1, 0, 1)}}
	res, _ := step(t, cfg, Models{Policy: enginetest.NewToy(toy)}, State{}, []*traj.Group{g})
	// returns 1 + 0.5·0.5 = 1.25 and 0.5, beside 0 + 0.5·1 = 0.5 and 1
	near(t, "first", res.Segments[0].Advantage, 0.375, 0.375, 0.375, -0.25, -0.25, -0.25)
	near(t, "second", res.Segments[1].Advantage, -0.375, -0.375, -0.375, 0.25, 0.25, 0.25)
}

// What shaping makes of the rollout's reward goes to its last turn; the turns still add up to the rollout.
func TestTurnRewardsAddUp(t *testing.T) {
	nodes := []traj.Node{{Reward: 0.5}, {Reward: 1, Sampled: []int32{1}}, {Reward: 2}, {Reward: 4, Sampled: []int32{2}}}
	r := &rollout{traj: &traj.Rollout{Nodes: nodes}, worth: 9}
	r.turn, r.turns = turnsOf(nodes)
	trainer := New(config(), Models{}, State{})
	near(t, "nodes that sampled nothing", trainer.turnRewards(r), 3.5, 5.5) // 0.5 + 1 + 2, and 4 + (9 − 7.5)
	trainer.cfg.Reward.Scale = 2
	near(t, "scaled", trainer.turnRewards(r), 7, 2) // 8 + (9 − 15)
	trainer.cfg.Shuffle = func([]float64) {}
	near(t, "dealt out anew", trainer.turnRewards(r), 0, 9)
	near(t, "nothing sampled", trainer.turnRewards(&rollout{traj: &traj.Rollout{}, worth: 3}), 3)
}

// The control experiment deals out the rewards as they are trained on: nothing of the truth is left in them.
func TestShuffleDealsRewardsAnew(t *testing.T) {
	cfg := config()
	cfg.Shuffle = func(r []float64) { r[0], r[1] = r[1], r[0] }
	res, _ := step(t, cfg, Models{Policy: enginetest.NewToy(toy)}, State{}, batchOf(t, []float64{1, 0}))
	if res.Segments[0].Advantage[0] != -0.5 || res.Rewards.Mean != 0.5 {
		t.Errorf("advantage %v of the rewarded rollout; want the other one's", res.Segments[0].Advantage[0])
	}
}
