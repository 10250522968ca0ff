// The gradient that reaches the weights, against central differences of the whole objective, written out a second time in
// float64 on the toy's table of logits.

package train

import (
	"context"
	"fmt"
	"math"
	"testing"

	"molt/algo"
	"molt/engine"
	"molt/engine/enginetest"
	"molt/traj"
)

const vocab = 8

// watched is a toy that remembers its weights and gradients at each step.
type watched struct {
	*enginetest.Toy
	forwards int
	steps    []moment
}

type moment struct{ table, dTable, value, dValue []float64 }

func (w *watched) Forward(ctx context.Context, b engine.Batch, want engine.Want) (engine.Pass, error) {
	w.forwards++
	return w.Toy.Forward(ctx, b, want)
}

func (w *watched) Step(ctx context.Context, o engine.StepOptions) (engine.StepResult, error) {
	now, err := w.Toy.Weights(ctx)
	if err != nil {
		return engine.StepResult{}, err
	}
	m := moment{table: wide(now.Tensors[0].Data), value: wide(now.Tensors[1].Data)}
	for i := range m.table {
		m.dTable = append(m.dTable, w.Toy.Gradient(now.Tensors[0].Name, i))
	}
	for i := range m.value {
		m.dValue = append(m.dValue, w.Toy.Gradient(now.Tensors[1].Name, i))
	}
	w.steps = append(w.steps, m)
	return w.Toy.Step(ctx, o)
}

func wide(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// logps are the log-probs of every id after previous.
func logps(table []float64, previous int32) []float64 {
	row := table[int(previous)*vocab:][:vocab]
	var total float64
	for _, z := range row {
		total += math.Exp(z)
	}
	out := make([]float64, vocab)
	for i, z := range row {
		out[i] = z - math.Log(total)
	}
	return out
}

// objective is what one optimizer step on all segments minimises, by the formulas of docs/algorithms.md. Weights that are
// constants to the gradient come from held.
func objective(cfg Config, segments []*Segment, kl float64, table, held []float64) float64 {
	length, denominator := map[*traj.Rollout]float64{}, 0.0
	for _, s := range segments {
		length[s.Layout.Rollout] += float64(len(s.score))
		denominator += float64(len(s.score))
	}
	switch cfg.Loss.Aggregation {
	case "rollout_sum", "rollout_mean":
		denominator = float64(len(length))
	case "constant":
		denominator = float64(len(length) * cfg.Loss.MaxTokens)
	}
	var total float64
	for _, s := range segments {
		share := 1.0
		if cfg.Loss.Aggregation == "rollout_mean" {
			share = 1 / length[s.Layout.Rollout]
		}
		var mean, heldMean float64 // log-ratio of the segment
		for i, at := range s.score {
			previous, id := s.Layout.Tokens[at-1], s.Layout.Tokens[at]
			mean += (logps(table, previous)[id] - float64(s.LogpOld[i])) / float64(len(s.score))
			heldMean += (logps(held, previous)[id] - float64(s.LogpOld[i])) / float64(len(s.score))
		}
		for i, at := range s.score {
			previous, id := s.Layout.Tokens[at-1], s.Layout.Tokens[at]
			all := logps(table, previous)
			now, constant, old, a := all[id], logps(held, previous)[id], float64(s.LogpOld[i]), float64(s.Advantage[i])
			r := math.Exp(now - old)
			var loss float64
			switch cfg.Loss.Name {
			case "ppo":
				loss = -min(r*a, min(max(r, 0.8), 1.2)*a)
			case "gspo":
				loss = -min(math.Exp(mean)*a, min(max(math.Exp(mean), 0.8), 1.2)*a)
			case "cispo":
				loss = -min(math.Exp(constant-old), 5) * a * now
			case "sapo":
				tau := map[bool]float64{true: 1, false: 1.05}[a > 0]
				loss = -4 / tau / (1 + math.Exp(-tau*(r-1))) * a
			case "policy_gradient":
				loss = -a * now
			}
			total += share * float64(s.Weight[i]) * loss
			if s.LogpRef != nil {
				d := now - float64(s.LogpRef[i])
				total += share * kl * map[string]float64{"k2": d * d / 2, "k3": math.Exp(-d) - 1 + d, "k3_unbiased": r * (math.Exp(-d) - 1 + d)}[cfg.KL.Estimator]
			}
			for _, l := range all {
				total += share * cfg.EntropyCoef * math.Exp(l) * l // −coef·H
			}
		}
	}
	return total / denominator
}

// TestGradient: two updates on one batch, so that the second has ratios that are not 1, on rollouts of which one has two
// segments, with stale tokens that are weighted.
func TestGradient(t *testing.T) {
	aggregations := []string{"token_mean", "rollout_sum", "rollout_mean", "constant"}
	kls := []string{"k2", "k3", "k3_unbiased"}
	for i, loss := range algo.Losses {
		for j, aggregation := range aggregations {
			cfg := config()
			cfg.Loss.Name, cfg.Loss.Aggregation, cfg.KL.Estimator = loss.Name, aggregation, kls[(i+j)%3]
			if aggregation == "constant" {
				cfg.Loss.MaxTokens = 5
			}
			cfg.MaxEpochs, cfg.EntropyCoef, cfg.Lag.Decay = 2, 0.1, 0.5
			t.Run(fmt.Sprint(loss.Name, " ", aggregation, " ", cfg.KL.Estimator), func(t *testing.T) { checkGradient(t, cfg) })
		}
	}
}

func checkGradient(t *testing.T, cfg Config) {
	groups := batchOf(t, []float64{1, 0, 0.25})
	fork(t, groups[0].Rollouts[0])
	for i := range groups[0].Rollouts[1].Nodes[0].LogpGen {
		groups[0].Rollouts[1].Nodes[0].LogpGen[i] -= 0.3
	}
	policy := &watched{Toy: aged(t, 1)}
	res, _ := step(t, cfg, Models{Policy: policy, Reference: other()}, State{Version: 1, KL: 0.7}, groups)
	if len(policy.steps) != 2 {
		t.Fatalf("%d steps; want 2", len(policy.steps))
	}
	if w := res.Segments[2].Weight[0]; math.Abs(float64(w)-0.5*math.Exp(0.3)) > 1e-5 {
		t.Fatalf("weight %v; want half of e^0.3", w)
	}
	for _, at := range policy.steps {
		for i, got := range at.dTable {
			const h = 1e-4
			moved := append([]float64(nil), at.table...)
			moved[i] += h
			up := objective(cfg, res.Segments, 0.7, moved, at.table)
			moved[i] -= 2 * h
			down := objective(cfg, res.Segments, 0.7, moved, at.table)
			if want := (up - down) / (2 * h); math.Abs(got-want) > 2e-6*max(1, math.Abs(want)) {
				t.Errorf("logit %d after %d: derivative %v; by differences %v", i%vocab, i/vocab, got, want)
			}
		}
	}
}

// TestCriticGradient is the same for the critic's values: L = 1/D · Σ a·½·max((V − R)², (clip(V, V₀ ± clip) − R)²).
func TestCriticGradient(t *testing.T) {
	for _, aggregation := range []string{"token_mean", "rollout_mean"} {
		cfg := withCritic()
		cfg.Loss.Aggregation, cfg.Value.Clip, cfg.Critic.MaxEpochs = aggregation, 0.1, 2
		groups := batchOf(t, []float64{1, 0, 0.25})
		fork(t, groups[0].Rollouts[0])
		critic := &watched{Toy: enginetest.NewToy(toy)}
		res, _ := step(t, cfg, Models{Policy: enginetest.NewToy(toy), Critic: critic}, State{}, groups)
		objective := func(value []float64) float64 {
			var total, tokens float64
			for _, s := range res.Segments {
				share := 1.0
				if aggregation == "rollout_mean" {
					share = 1 / float64(s.Layout.Rollout.Sampled())
				}
				for i, at := range s.score {
					v, old, r := value[s.Layout.Tokens[at-1]], float64(s.ValueOld[i]), float64(s.Return[i])
					held := min(max(v, old-0.1), old+0.1)
					total += share * max((v-r)*(v-r), (held-r)*(held-r)) / 2
					tokens++
				}
			}
			if aggregation == "rollout_mean" {
				return total / 3
			}
			return total / tokens
		}
		moved := 0
		for _, at := range critic.steps {
			for i, got := range at.dValue {
				const h = 1e-5
				value := append([]float64(nil), at.value...)
				value[i] += h
				up := objective(value)
				value[i] -= 2 * h
				if want := (up - objective(value)) / (2 * h); math.Abs(got-want) > 1e-6 {
					t.Errorf("%s: value after %d: derivative %v; by differences %v", aggregation, i, got, want)
				} else if want != 0 {
					moved++
				}
			}
			for i, d := range at.dTable {
				if d != 0 {
					t.Errorf("%s: the critic's logit %d has a gradient of %v", aggregation, i, d)
				}
			}
		}
		if moved < 4 {
			t.Errorf("%s: only %d values had a gradient", aggregation, moved)
		}
	}
}
