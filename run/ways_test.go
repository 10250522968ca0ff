// Every way to train, end to end on the embedded engine, each some seconds or less.

package run

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/metrics"
	"molt/run/folder"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
)

// ways are the estimators, losses and what else changes the path of a step.
var ways = map[string]func(*testing.T, *recipe.Config){
	"grpo":               func(*testing.T, *recipe.Config) {},
	"dr_grpo":            func(_ *testing.T, c *recipe.Config) { c.Algo.Advantage.Estimator = "dr_grpo"; constant(c) },
	"rloo":               func(_ *testing.T, c *recipe.Config) { c.Algo.Advantage.Estimator = "rloo" },
	"pass_at_k":          func(_ *testing.T, c *recipe.Config) { c.Algo.Advantage.Estimator, c.Algo.Advantage.K = "pass_at_k", 2 },
	"reinforce_baseline": func(_ *testing.T, c *recipe.Config) { c.Algo.Advantage.Estimator = "reinforce_baseline" },
	"reinforce": func(_ *testing.T, c *recipe.Config) {
		c.Algo.Advantage.Estimator, c.Algo.Advantage.Gamma = "reinforce", 0.99
		c.Algo.KL.Coef, c.Algo.KL.Estimator, c.Algo.KL.Target = 0.05, "k1", 0.01
	},
	"gae":     func(_ *testing.T, c *recipe.Config) { withCritic(c) },
	"distill": func(t *testing.T, c *recipe.Config) { distil(c, teacher(t)) },
	"turns": func(_ *testing.T, c *recipe.Config) {
		c.Algo.Advantage.Estimator, c.Algo.Advantage.Turns, c.Algo.Advantage.TurnGamma = "rloo", true, 0.5
	},
	"gae ahead":    func(_ *testing.T, c *recipe.Config) { withCritic(c); c.Train.Mode = "one_step_ahead" },
	"gae turns":    func(_ *testing.T, c *recipe.Config) { withCritic(c); c.Algo.Advantage.Turns = true },
	"gspo":         func(_ *testing.T, c *recipe.Config) { c.Actor.LossMode, c.Actor.Clip = "gspo", []float64{3e-4, 4e-4} },
	"cispo":        func(_ *testing.T, c *recipe.Config) { c.Actor.LossMode = "cispo" },
	"sapo":         func(_ *testing.T, c *recipe.Config) { c.Actor.LossMode = "sapo" },
	"pg":           func(_ *testing.T, c *recipe.Config) { c.Actor.LossMode = "pg" },
	"dual clip":    func(_ *testing.T, c *recipe.Config) { c.Actor.DualClip, c.Actor.Clip = 3, []float64{0.2, 0.28} },
	"behavior":     func(_ *testing.T, c *recipe.Config) { c.Actor.Proximal, c.Algo.Advantage.Level = "behavior", "off" },
	"rollout_sum":  func(_ *testing.T, c *recipe.Config) { c.Actor.Aggregation = "seq-mean-token-sum" },
	"rollout_mean": func(_ *testing.T, c *recipe.Config) { c.Actor.Aggregation = "rollout_mean" },
	"geometric": func(_ *testing.T, c *recipe.Config) {
		c.Algo.Advantage.Level, c.Algo.Advantage.Mode, c.Train.Mode = "geo", "mask", "one_step_ahead"
	},
	"lag": func(_ *testing.T, c *recipe.Config) { c.Train.Mode, c.Algo.Lag.Decay = "one_step_ahead", 0.5 },
	"kl and entropy": func(_ *testing.T, c *recipe.Config) {
		c.Algo.KL.Coef, c.Algo.KL.UseLoss, c.Algo.KL.Estimator, c.Actor.Entropy = 0.1, true, "k3_unbiased", 0.01
	},
	"shaped": func(_ *testing.T, c *recipe.Config) {
		c.Algo.Advantage.Estimator, c.Reward.Scale, c.Reward.Normalise = "dr_grpo", 2, "running"
		c.Reward.Length.Shape, c.Reward.Length.Max, c.Reward.Length.Buffer = "overlong", 10, 5
	},
	"muon": func(_ *testing.T, c *recipe.Config) { c.Actor.Optim, c.Actor.Muon.LR = "muon", 0.05 },
	"bf16": func(_ *testing.T, c *recipe.Config) { c.Actor.Adam.BF16 = true },
	"muon gae": func(_ *testing.T, c *recipe.Config) {
		withCritic(c)
		c.Actor.Optim, c.Critic.Optim, c.Critic.Muon.LR, c.Critic.Adam.LR = "muon", "muon", 0.02, 0.02
	},
	"frozen": func(_ *testing.T, c *recipe.Config) {
		c.Actor.Freeze, c.Actor.LRScale = []string{"model.embed_tokens.*"}, []string{"*norm*=0.5"}
		c.Actor.Scheduler, c.Actor.DecayRatio = "wsd", 0.5
	},
	"lora": func(_ *testing.T, c *recipe.Config) { withLoRA(c) },
	"lora kl": func(_ *testing.T, c *recipe.Config) {
		withLoRA(c)
		c.Algo.KL.Coef, c.Algo.KL.UseLoss, c.Actor.LRScale = 0.1, true, []string{"*.lora_B.weight=4"}
	},
	"gae shared":      func(_ *testing.T, c *recipe.Config) { withCritic(c); c.Critic.Shared = true },
	"gae shared lora": func(_ *testing.T, c *recipe.Config) { withCritic(c); withLoRA(c); c.Critic.Shared = true },
	"gae lora":        func(_ *testing.T, c *recipe.Config) { withCritic(c); withLoRA(c) },
	"epochs":          func(_ *testing.T, c *recipe.Config) { c.Train.MaxEpochs = 2 },
}

func constant(c *recipe.Config) { c.Actor.Aggregation, c.Actor.MaxTokens = "constant", 10 }

// withCritic is PPO, its critic alone for one batch.
func withCritic(c *recipe.Config) {
	c.Algo.Advantage.Estimator, c.Algo.Advantage.Lambda = "gae", 0.95
	c.Critic.Adam.LR, c.Critic.MaxEpochs, c.Actor.Freezing = 0.02, 2, 1
}

// withLoRA trains an adapter.
func withLoRA(c *recipe.Config) {
	c.Actor.LoRA.Rank, c.Actor.LoRA.RSLoRA, c.Actor.Adam.LR = 4, true, 0.05
}

// teacher is another model that reads the same tokens, and a larger one.
func teacher(t *testing.T) string {
	t.Helper()
	m := microModel(filepath.Join(t.TempDir(), "teacher"))
	m.Seed, m.Shape.HiddenSize = 8, 32
	if err := models.Init(m); err != nil {
		t.Fatal(err)
	}
	return m.Out
}

func TestEveryWayTrains(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for name, change := range ways {
		t.Run(name, func(t *testing.T) {
			c := microRL(t)
			change(t, c)
			runRL(t, c)
			if bytes.Equal(read(t, filepath.Join(c.Ckpt.Path, folder.LastDir, "model.safetensors")), read(t, filepath.Join(c.Model.Path, "model.safetensors"))) {
				t.Error("the weights did not change")
			}
			if raised := alarms(t, c.Ckpt.Path); len(raised) > 0 {
				t.Errorf("alarms %v", raised)
			}
			checkSteps(t, c)
			checkStrips(t, c.Ckpt.Path)
		})
	}
}

func stepsOf(t *testing.T, c *recipe.Config) (steps []metrics.StepDone) {
	t.Helper()
	records, err := metrics.Salvage(filepath.Join(c.Ckpt.Path, folder.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range metrics.Of[metrics.StepDone](records) {
		steps = append(steps, e)
	}
	return steps
}

// checkSteps looks at the numbers of each step.
func checkSteps(t *testing.T, c *recipe.Config) {
	t.Helper()
	steps := stepsOf(t, c)
	if len(steps) != c.Train.Steps {
		t.Fatalf("%d steps; want %d", len(steps), c.Train.Steps)
	}
	for _, e := range steps {
		alone := int(e.Step) <= c.Actor.Freezing
		if !(e.GradNorm > 0) != alone || math.IsInf(e.GradNorm, 0) || e.Skipped {
			t.Errorf("step %d: gradient norm %v", e.Step, e.GradNorm)
		}
		if (e.Critic != nil) != c.Criticises() || (e.Reference != nil) != c.Compares() {
			t.Errorf("step %d: critic %+v, reference %+v", e.Step, e.Critic, e.Reference)
		}
		if k := e.Critic; k != nil && (k.Alone != alone || !(k.Loss > 0) || !(k.GradNorm > 0) || k.LearningRate != c.Critic.Adam.LR) {
			t.Errorf("step %d: critic %+v", e.Step, k)
		}
	}
}

// checkStrips: kept rollouts that trained show what each token lost. That the losses add up is tested in train.
func checkStrips(t *testing.T, run string) {
	t.Helper()
	records, err := metrics.Salvage(filepath.Join(run, folder.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := metrics.ReadRollouts(filepath.Join(run, folder.RolloutsFile), records)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range kept {
		if r.LossShare != nil && r.StepLoss != nil && slices.ContainsFunc(r.Tokens.Loss, func(l float32) bool { return l != 0 }) {
			return
		}
	}
	t.Error("no kept rollout shows what its tokens lost")
}

// TestDistillationReachesTheTeacher: the student comes nearer with every batch, whatever is rewarded.
func TestDistillationReachesTheTeacher(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	c := microRL(t)
	distil(c, teacher(t))
	c.Train.Steps, c.Train.BatchSize, c.Eval.Steps, c.Rollout.Samples = 30, 0, 0, 16
	runRL(t, c)
	steps := stepsOf(t, c)
	first, last := steps[0].Reference.K1, steps[len(steps)-1].Reference.K1
	t.Logf("KL to the teacher went from %.3f to %.3f nats a token", first, last)
	if !(first > 0.05 && last < first/2) {
		t.Errorf("KL to the teacher went from %v to %v nats a token", first, last)
	}
}

// TestOtherVocabularies: a teacher that reads other tokens is refused, by the first id that differs.
func TestOtherVocabularies(t *testing.T) {
	other := microModel(filepath.Join(t.TempDir(), "other"))
	other.Texts = slices.Values([]string{"nothing like it: xyzzy xyzzy plugh plugh"})
	small := microModel(filepath.Join(t.TempDir(), "small"))
	small.VocabSize = 265
	for _, m := range []models.InitConfig{other, small} {
		if err := models.Init(m); err != nil {
			t.Fatal(err)
		}
		c := microRL(t)
		distil(c, m.Out)
		_, err := preflight(t.Context(), c)
		if p := problemAt(err, "ref.model_name_or_path"); p == nil || p.Code != problem.Tokenizer || !strings.Contains(p.Error(), m.Out) {
			t.Errorf("got %v; want the teacher refused", err)
		}
		c = microRL(t)
		withCritic(c)
		c.Critic.Path = m.Out
		if _, err := preflight(t.Context(), c); problemAt(err, "critic.model_name_or_path") == nil {
			t.Errorf("got %v; want the critic refused", err)
		}
	}
}

// TestPlanCountsCompanions: --dry-run shows what a teacher and a critic will hold.
func TestPlanCountsCompanions(t *testing.T) {
	c := microRL(t)
	withCritic(c)
	c.Algo.KL.Coef, c.Algo.KL.UseLoss = 0.1, true
	plan, err := PlanRL(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]int64{}
	for _, m := range plan.Memory {
		parts[m.Part] = m.Bytes
	}
	learner := parts["learner: weights"] + parts["learner: activations of a micro-batch"]
	steps := parts["learner: gradients and moments"]
	if parts["reference"] <= 0 || parts["reference"] >= learner || parts["critic"] <= learner+steps || parts["critic"] > learner+2*steps {
		t.Errorf("planned %v; want a reference that keeps nothing for a backward, and a critic of somewhat more than the policy", parts)
	}
}
