// Each alarm, raised by breaking what it watches over; and a healthy run, which raises none.

package run

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/agent"
	"molt/metrics"
	"molt/rollout/sched"
	"molt/run/finetune"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/traj"
)

func TestHealthyRunsRaiseNoAlarm(t *testing.T) {
	rl, sft := microRL(t), microSFT(t)
	runRL(t, rl)
	runSFT(t, sft)
	for _, run := range []string{rl.Ckpt.Path, sft.Ckpt.Path} {
		if names := alarms(t, run); len(names) > 0 {
			t.Errorf("%s raised %q", run, names)
		}
	}
}

func TestAlarmsOfRL(t *testing.T) {
	environments["rich"] = func() agent.Env { return &rich{times: 3e38} }
	environments["richer"] = func() agent.Env { return &rich{times: 1e40} }
	tools := `"tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]`
	for name, spoil := range map[string]func(*testing.T, *recipe.Config){
		"no-gradient": func(_ *testing.T, c *recipe.Config) { c.Agent.Name = "answer" },
		"failed-rollouts": func(t *testing.T, c *recipe.Config) {
			c.Agent.Name, c.Data.Prompts = "faulty", rowsOf(t, 9, "sometimes")
		},
		"step-skipped": func(_ *testing.T, c *recipe.Config) {
			c.Agent.Name, c.Algo.Advantage.Estimator, c.Reward.ClipRange = "rich", "dr_grpo", []float64{-1e300, 1e300}
			c.Train.BatchSize, c.Rollout.Temperature = 1, 0.02
		},
		"non-finite-tokens": func(_ *testing.T, c *recipe.Config) {
			c.Agent.Name, c.Algo.Advantage.Estimator, c.Reward.ClipRange = "richer", "dr_grpo", []float64{-1e300, 1e300}
		},
		"tools-never-parsed": func(t *testing.T, c *recipe.Config) {
			var b strings.Builder
			for i := range 6 {
				fmt.Fprintf(&b, `{"input": "what %d?", "label": "1", %s}`+"\n", i, tools)
			}
			c.Data.ToolsKey, c.Rollout.Samples, c.Rollout.MaxLen = "tools", 16, 400
			c.Data.Prompts = []string{write(t, t.TempDir(), "tools.jsonl", b.String())}
			c.Eval.Dataset, c.Agent.Name = c.Data.Prompts, "answer"
		},
		"checkpoints-over-budget": func(_ *testing.T, c *recipe.Config) { c.Ckpt.MaxMem = 1e-6 },
		"failed-evaluation": func(t *testing.T, c *recipe.Config) {
			c.Agent.Name, c.Eval.Dataset = "faulty", rowsOf(t, 3, "sometimes")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := microRL(t)
			spoil(t, c)
			runRL(t, c)
			if names := alarms(t, c.Ckpt.Path); !slices.Contains(names, name) {
				t.Errorf("raised %q", names)
			}
		})
	}
}

// TestFilterThatLeavesNothing: the batch goes out short, and the run stops with the reason.
func TestFilterThatLeavesNothing(t *testing.T) {
	c := microRL(t)
	c.Algo.Filter, c.Algo.Range, c.Algo.Budget = true, []float64{0.1, 0.25}, 3
	_, err := RL(t.Context(), c, recipe.Settings(c), leg.View{})
	wantProblem(t, err, problem.Alarm, "more groups than the drop budget of 3")
	if names := alarms(t, c.Ckpt.Path); !slices.Equal(names, []string{"short-batch", "run-stopped"}) {
		t.Errorf("raised %q", names)
	}
}

// TestLastBatchOfTheLastEpoch is as small as what is left, and no alarm.
func TestLastBatchOfTheLastEpoch(t *testing.T) {
	c := microRL(t)
	c.Rollout.BatchSize, c.Train.Steps = 7, 0 // of 9 prompts
	result := runRL(t, c)
	if names := alarms(t, c.Ckpt.Path); len(names) > 0 || result.Steps != 2 {
		t.Errorf("%d steps, raised %q", result.Steps, names)
	}
}

func rowsOf(t *testing.T, n int, word string) []string {
	return []string{write(t, t.TempDir(), word+".jsonl", rows(n, word))}
}

// rich is vowels in another currency.
type rich struct {
	vowels
	times float64
}

func (e *rich) Step(ctx context.Context, a agent.Action) (agent.Result, error) {
	r, err := e.vowels.Step(ctx, a)
	r.Reward *= e.times
	return r, err
}

func TestAlarmsOfSFT(t *testing.T) {
	for name, spoil := range map[string]func(*testing.T, *recipe.SFTConfig){
		"rows-left-out": func(_ *testing.T, c *recipe.SFTConfig) {
			long := `{"messages": [{"role": "user", "content": "what?"}, {"role": "assistant", "content": "` + strings.Repeat("long ", 60) + `"}]}`
			c.Data.Dataset = append(c.Data.Dataset, write(t, t.TempDir(), "long.jsonl", long+"\n"))
		},
		"turns-not-read-back": func(t *testing.T, c *recipe.SFTConfig) {
			odd := `{"messages": [{"role": "user", "content": "what?"}, {"role": "assistant", "content": "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"}]}`
			c.Data.Dataset = append(c.Data.Dataset, write(t, t.TempDir(), "odd.jsonl", odd+"\n"))
		},
		"step-skipped": func(_ *testing.T, c *recipe.SFTConfig) { c.Model.Adam.LR = 1e30 },
	} {
		t.Run(name, func(t *testing.T) {
			c := microSFT(t)
			spoil(t, c)
			runSFT(t, c)
			if names := alarms(t, c.Ckpt.Path); !slices.Contains(names, name) {
				t.Errorf("raised %q", names)
			}
		})
	}
}

// TestDivergedFineTuning: weights beyond all numbers end the run with a sentence.
func TestDivergedFineTuning(t *testing.T) {
	c := microSFT(t)
	c.Model.Adam.LR = 1e300
	_, err := finetune.Run(t.Context(), c, recipe.Settings(c), leg.View{})
	wantProblem(t, err, problem.Alarm, "the weights have diverged")
	if names := alarms(t, c.Ckpt.Path); !slices.Contains(names, "run-stopped") {
		t.Errorf("raised %q", names)
	}
}

// TestRepeatedAlarms: an alarm of every step is told now and then, and counted at the end, also across an interruption.
func TestRepeatedAlarms(t *testing.T) {
	c := microRL(t)
	c.Agent.Name, c.Train.Steps, c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = "answer", 12, nil, 0, false
	half(t, c, "7")
	result := runRL(t, c)
	var told []int64
	for _, a := range metrics.Of[metrics.Alarm](eventsOf(t, c)) {
		if a.Name == "no-gradient" {
			told = append(told, a.Step)
		}
	}
	if !slices.Equal(told, []int64{1, 2, 5, 10}) || result.Alarms["no-gradient"] != 12 || !strings.Contains(result.String(), "alarms          no-gradient in 12 steps\n") {
		t.Errorf("told at %d; result %+v\n%s", told, result, result)
	}
}

// TestCanary: at learning rate 0 nothing may move, and generator and learner agree to the bit in every step.
func TestCanary(t *testing.T) {
	c := microRL(t)
	c.Actor.Adam.LR = 0
	runRL(t, c)
	before, after := read(t, filepath.Join(c.Model.Path, "model.safetensors")), read(t, filepath.Join(c.Ckpt.Path, folder.LastDir, "model.safetensors"))
	if !bytes.Equal(before, after) {
		t.Error("the weights moved")
	}
	records, err := metrics.Salvage(filepath.Join(c.Ckpt.Path, folder.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	for _, e := range metrics.Of[metrics.StepDone](records) {
		steps++
		if e.GradNorm == 0 || e.Mismatch.Max != 0 || e.Mismatch.K3 != 0 || e.Ratio.Max != 0 || *e.ESS != 1 {
			t.Errorf("step %d: gradient norm %v, mismatch %+v, ratio %+v, effective share %v", e.Step, e.GradNorm, e.Mismatch, e.Ratio, *e.ESS)
		}
	}
	if steps != c.Train.Steps {
		t.Errorf("%d steps, want %d", steps, c.Train.Steps)
	}
}

// TestKLHoldsBack: a weight on the distance to the start shows in the events and in the weights.
func TestKLHoldsBack(t *testing.T) {
	final := func(coef float64) []byte {
		c := microRL(t)
		c.Algo.KL.Coef, c.Algo.KL.UseLoss = coef, coef > 0
		runRL(t, c)
		records, err := metrics.Salvage(filepath.Join(c.Ckpt.Path, folder.EventsFile))
		if err != nil {
			t.Fatal(err)
		}
		last, _ := metrics.Last[metrics.StepDone](records)
		if measured := last.Reference != nil && last.Reference.K3 > 0; measured != (coef > 0) {
			t.Errorf("with weight %v the distance is %+v", coef, last.Reference)
		}
		return read(t, filepath.Join(c.Ckpt.Path, folder.LastDir, "model.safetensors"))
	}
	if bytes.Equal(final(0), final(0.5)) {
		t.Error("the weight of the KL divergence changes nothing")
	}
}

// TestNothingIsMeasuredOfOneUpdate: where a batch has one, there is no ratio, and a KL of 0 would say that nothing moved. At the
// default learning rate a small model hardly does, and the run says that.
func TestNothingIsMeasuredOfOneUpdate(t *testing.T) {
	c := microRL(t)
	c.Train.BatchSize, c.Train.MaxEpochs, c.Actor.Adam.LR = 0, 1, recipe.Defaults().Actor.Adam.LR
	runRL(t, c)
	records, err := metrics.Salvage(filepath.Join(c.Ckpt.Path, folder.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range metrics.Of[metrics.StepDone](records) {
		if e.Ratio != nil || e.ClipFraction != nil {
			t.Errorf("step %d: ratio %+v", e.Step, e.Ratio)
		}
	}
	if names := alarms(t, c.Ckpt.Path); !slices.Equal(names, []string{"default-learning-rate"}) {
		t.Errorf("raised %q", names)
	}
}

// TestTurnsThatDoNotTrain: an agent whose every turn is constrained is told.
func TestTurnsThatDoNotTrain(t *testing.T) {
	batch := func(constrained ...bool) (b sched.Batch) {
		r := &traj.Rollout{}
		for _, c := range constrained {
			r.Nodes = append(r.Nodes, traj.Node{Sampled: []int32{1}, Constrained: c})
		}
		r.Nodes = append(r.Nodes, traj.Node{Observation: []int32{1}})
		b.Groups = []*traj.Group{{Rollouts: []*traj.Rollout{r}}}
		return b
	}
	for _, c := range []struct {
		batch       sched.Batch
		turns, free int
	}{{batch(true, true), 2, 0}, {batch(true, false), 2, 1}, {batch(), 0, 0}} {
		if turns, free := sampled(c.batch); turns != c.turns || free != c.free {
			t.Errorf("%d turns, %d free; want %d, %d", turns, free, c.turns, c.free)
		}
	}
}
