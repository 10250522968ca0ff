// Each way through a step, with numbers to check by hand. Advantages are ±0.5 unless a test says otherwise.

package train

import (
	"math"
	"testing"

	"molt/algo"
	"molt/engine/enginetest"
	"molt/traj"
)

// TestAggregations: the rewarded rollout has six tokens in two segments, the other three.
func TestAggregations(t *testing.T) {
	for name, want := range map[string][2]float64{
		"token_mean":   {-0.5 / 9, 0.5 / 9},
		"rollout_sum":  {-0.5 / 2, 0.5 / 2},
		"rollout_mean": {-0.5 / 6 / 2, 0.5 / 3 / 2},
		"constant":     {-0.5 / 2 / 10, 0.5 / 2 / 10},
	} {
		cfg := config()
		cfg.Loss.Aggregation = name
		if name == "constant" {
			cfg.Loss.MaxTokens = 10
		}
		groups := batchOf(t, []float64{1, 0})
		fork(t, groups[0].Rollouts[0])
		res, _ := step(t, cfg, Models{Policy: enginetest.NewToy(toy)}, State{}, groups)
		near(t, name+": first segment", res.Segments[0].Gradient, want[0])
		near(t, name+": second segment", res.Segments[1].Gradient, want[0])
		near(t, name+": other rollout", res.Segments[2].Gradient, want[1])
	}
}

// stale is a batch that version 0 sampled and a policy of version 3, with tokens that the generator thought less likely.
func stale(t *testing.T) ([]*traj.Group, *watched) {
	t.Helper()
	groups := batchOf(t, []float64{1, 0})
	for _, r := range groups[0].Rollouts {
		for i := range r.Nodes[0].LogpGen {
			r.Nodes[0].LogpGen[i] -= 0.1
		}
	}
	return groups, &watched{Toy: aged(t, 3)}
}

func TestLagWeighs(t *testing.T) {
	for _, c := range []struct {
		name  string
		lag   algo.LagConfig
		keeps float64
	}{
		{"off", algo.LagConfig{}, 1},
		{"decay", algo.LagConfig{Decay: 0.5}, 0.125},
	} {
		cfg := config()
		cfg.Lag = c.lag
		groups, policy := stale(t)
		res, _ := step(t, cfg, Models{Policy: policy}, State{Version: 3}, groups)
		m := math.Exp(0.1)
		near(t, c.name+": weight", res.Segments[0].Weight, c.keeps*m)
		near(t, c.name+": gradient", res.Segments[0].Gradient, -0.5/6*c.keeps*m)
		bin := res.Lags[3]
		if bin.Mismatch.Tokens != 6 || math.Abs(bin.Weight/6-c.keeps*m) > 1e-6 {
			t.Errorf("%s: lag 3 has %d tokens of mean weight %v", c.name, bin.Mismatch.Tokens, bin.Weight/6)
		}
	}
}

// TestProximal: two updates on stale tokens. Decoupled PPO scores them first; coupled PPO compares with the generator.
func TestProximal(t *testing.T) {
	for _, c := range []struct {
		proximal, level string
		ratio, weight   float64
		forwards        int
	}{
		{"decoupled", "token", 1, math.Exp(0.1), 3},
		{"behavior", "off", math.Exp(0.1), 1, 2},
	} {
		cfg := config()
		cfg.Loss.Proximal, cfg.Correction.Level, cfg.BatchSize = c.proximal, c.level, 1
		groups, policy := stale(t)
		res, _ := step(t, cfg, Models{Policy: policy}, State{Version: 3}, groups)
		near(t, c.proximal+": gradient", res.Segments[0].Gradient, -0.5/3*c.ratio*c.weight) // a step of one rollout of 3 tokens
		if policy.forwards != c.forwards {
			t.Errorf("%s: %d passes; want %d", c.proximal, policy.forwards, c.forwards)
		}
	}
}

// TestKLInReward: each token pays for its own distance to the reference and for that of the tokens after it.
func TestKLInReward(t *testing.T) {
	cfg := config()
	cfg.Advantage.Estimator, cfg.Advantage.NoWhiten = "reinforce", true
	cfg.KL = algo.KLConfig{Estimator: "k1", Coef: 0.5, Target: 0.01, Horizon: 100}
	res, trainer := step(t, cfg, Models{Policy: enginetest.NewToy(toy), Reference: other()}, State{KL: 0.5}, batchOf(t, []float64{1, 0}))
	s := res.Segments[0]
	kl := func(i int) float64 { return float64(s.LogpOld[i]) - float64(s.LogpRef[i]) }
	near(t, "advantage", s.Advantage, 1-0.5*(kl(0)+kl(1)+kl(2)), 1-0.5*(kl(1)+kl(2)), 1-0.5*kl(2))
	var total float64
	for _, s := range res.Segments {
		total += sum(s.LogpOld) - sum(s.LogpRef)
	}
	if math.Abs(res.Reference.Mean()-total/6) > 1e-6 || total == 0 {
		t.Errorf("KL %v; want %v", res.Reference.Mean(), total/6)
	}
	sign := map[bool]float64{true: 1, false: -1}[total/6 > 0.01]
	near(t, "next coefficient", []float64{trainer.State().KL}, 0.5*(1+sign*0.2*2/100))
}

// TestDistillation: whatever is rewarded, each token is judged by a teacher, and after some steps the student is like it.
func TestDistillation(t *testing.T) {
	cfg := config()
	cfg.Advantage.Estimator = "on_policy_distill"
	cfg.KL = algo.KLConfig{Estimator: "k1", Coef: 2, Horizon: 1}
	cfg.LR = func(int64) float64 { return 4 }
	student, generator := enginetest.NewToy(toy), enginetest.NewScript(toy)
	trainer := New(cfg, Models{Policy: student, Reference: other()}, State{KL: 2})
	var first, last float64
	for batch := range 60 {
		g := &traj.Group{ID: int64(batch)}
		for i := range 32 {
			g.Rollouts = append(g.Rollouts, sample(t, generator, g.ID, i, float64(i%2)))
		}
		res, err := trainer.Step(t.Context(), []*traj.Group{g})
		if err != nil {
			t.Fatal(err)
		}
		if s := res.Segments[0]; batch == 0 {
			near(t, "advantage", s.Advantage[:1], -2*(float64(s.LogpOld[0])-float64(s.LogpRef[0])))
			first = res.Reference.Mean()
		}
		last = res.Reference.Mean()
		if err := generator.Publish(t.Context(), weightsOf(t, student)); err != nil {
			t.Fatal(err)
		}
	}
	if !(first > 0.5 && math.Abs(last) < 0.05) {
		t.Errorf("KL to the teacher went from %v to %v nats a token", first, last)
	}
}

// TestTokenLossesAddUp: what people see of each token sums to the loss of the batch, over every loss, aggregation and
// number of updates.
func TestTokenLossesAddUp(t *testing.T) {
	for _, loss := range algo.Losses {
		for _, aggregation := range algo.Aggregations {
			for _, proximal := range algo.Proximals {
				cfg := config()
				cfg.Loss.Name, cfg.Loss.Aggregation, cfg.Loss.Proximal, cfg.Loss.MaxTokens = loss.Name, aggregation.Name, proximal.Name, 7
				cfg.BatchSize, cfg.MaxEpochs, cfg.EntropyCoef = 2, 3, 0.1
				if proximal.Coupled {
					cfg.Correction.Level = "off"
				}
				groups := batchOf(t, []float64{1, 0.25, 0, 0.1})
				fork(t, groups[0].Rollouts[0])
				res, _ := step(t, cfg, Models{Policy: enginetest.NewToy(toy)}, State{}, groups)
				var total float64
				for _, s := range res.Segments {
					total += sum(s.Loss)
				}
				if math.Abs(total-res.Loss.Loss) > 1e-6*max(1, math.Abs(total)) || total == 0 {
					t.Errorf("%s %s %s: token losses sum to %v; the loss is %v", loss.Name, aggregation.Name, proximal.Name, total, res.Loss.Loss)
				}
			}
		}
	}
}

// TestSegmentsOfOnePass: one ratio for each segment, however they share passes.
func TestSegmentsOfOnePass(t *testing.T) {
	var want string
	for _, micro := range []int{5, 10, 64} {
		cfg := config()
		cfg.Loss.Name, cfg.Correction.Level, cfg.MaxEpochs, cfg.MicroTokens = "gspo", "geometric", 3, micro
		groups := batchOf(t, []float64{1, 0, 0.25})
		fork(t, groups[0].Rollouts[0])
		policy := enginetest.NewToy(toy)
		step(t, cfg, Models{Policy: policy}, State{}, groups)
		got := weightsOf(t, policy).Fingerprint
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("micro-batches of %d tokens give other weights", micro)
		}
	}
}
