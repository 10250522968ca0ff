// The quickstart: nothing but this binary, and a few minutes later a small model has learned to use tools. It is made of
// the public commands: model init, sft, rl, eval, on files that lie in the output folder to be looked at.

package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"molt/chat"
	"molt/examples/shop"
	"molt/internal/atomicfile"
	"molt/internal/spell"
	"molt/run/finetune"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/machine"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
)

// QuickstartConfig is what a user may choose.
type QuickstartConfig struct {
	Seed    uint64
	Out     string
	Control bool // shuffled rewards: nothing can be learned from them
	Threads int  // 0 takes all cores; changes no bit of the result
}

// The sizes of the quickstart. docs/quickstart.md says how they were found, and what did not work.
const (
	demoCount   = 6400 // demonstrations: 800 steps of 8, each seen once
	promptCount = 4096 // training prompts
	selectCount = 256  // held-out prompts that pick the best checkpoint
	freshCount  = 512  // held-out prompts that nothing was picked by
	vocabulary  = 512  // most ids of the tokenizer

	tokenizerCount = 1000 // demonstrations that the tokenizer is trained on

	quickstartTrained   = 1_150_000 // tokens, about: they depend on the seed
	quickstartGenerated = 820_000
)

// QuickstartResult is the table at the end, and the last line with --json.
type QuickstartResult struct {
	Seed        uint64     `json:"seed"`
	Base        float64    `json:"base"`         // success on fresh held-out episodes at temperature 1, before RL
	BaseGreedy  float64    `json:"base_greedy"`  // the same, greedy
	Final       float64    `json:"final"`        // after RL
	FinalGreedy float64    `json:"final_greedy"` //
	Seconds     float64    `json:"seconds"`      // of this command
	SFTSeconds  float64    `json:"sft_seconds"`
	RLSeconds   float64    `json:"rl_seconds"`
	Generated   int64      `json:"tokens_generated"`
	Trained     int64      `json:"tokens_trained"`
	PeakRSSMB   int64      `json:"peak_rss_mb"`
	Control     bool       `json:"control,omitempty"`
	Turns       [2]float64 `json:"turns"` // of an episode, before and after
	Run         string     `json:"run"`
	Checkpoint  string     `json:"checkpoint"` // Hugging Face folder
	Report      string     `json:"report"`
}

// String is the table.
func (r *QuickstartResult) String() string {
	text := fmt.Sprintf(`
success on %d fresh held-out episodes      before RL   after RL
  at temperature 1                           %6.1f %%   %6.1f %%
  greedy                                     %6.1f %%   %6.1f %%
turns of an episode                          %6.2f     %6.2f

model   %s
report  %s
time    %.0f s, of which %.0f s imitation and %.0f s reinforcement learning
memory  %d MB at most
`, freshCount, 100*r.Base, 100*r.Final, 100*r.BaseGreedy, 100*r.FinalGreedy, r.Turns[0], r.Turns[1], spell.Quoted(r.Checkpoint), spell.Quoted(r.Report), r.Seconds, r.SFTSeconds, r.RLSeconds, r.PeakRSSMB)
	if r.Control {
		text += "\nThis was the control: rewards were dealt out at random, so nothing could be learned from them.\n"
	}
	return text
}

// quickstart is one in the making.
type quickstart struct {
	QuickstartConfig
	view   leg.View
	folder *folder.Folder
	result QuickstartResult
}

// Quickstart makes a model and trains it, or goes on with an unfinished quickstart in the same folder.
func Quickstart(ctx context.Context, c QuickstartConfig, view leg.View) (result *QuickstartResult, err error) {
	q := &quickstart{QuickstartConfig: c, view: view}
	q.result = QuickstartResult{Seed: c.Seed, Control: c.Control, Run: q.path("rl"), Checkpoint: q.path("rl", folder.BestDir), Report: q.path("rl", folder.ReportFile)}
	if c.Control { // the best of several tries at nothing is luck: the control shows where the run ended
		q.result.Checkpoint = q.path("rl", folder.LastDir)
	}
	started := time.Now()
	if _, err := PlanQuickstart(c); err != nil {
		return nil, err
	}
	if err := q.claim(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, q.folder.Close()) }()
	for _, stage := range []func(context.Context) error{q.write, q.imitate, q.reinforce, q.measure} {
		if ctx.Err() != nil {
			return nil, q.stopped(&problem.Problem{Code: problem.Interrupted, Where: c.Out, What: "stopped", Err: context.Cause(ctx)})
		}
		if err := stage(ctx); err != nil {
			return nil, q.stopped(err)
		}
	}
	q.result.Seconds, q.result.PeakRSSMB = time.Since(started).Seconds(), machine.PeakRSS()>>20
	return &q.result, q.folder.Finish(q.result)
}

// stopped is the error of a stage. An interrupted one knows only itself, and not how the whole is resumed.
func (q *quickstart) stopped(err error) error {
	if p, ok := errors.AsType[*problem.Problem](err); ok && p.Code == problem.Interrupted {
		p.Fix = "the same command resumes: " + q.view.Command
	}
	return err
}

func (q *quickstart) path(name ...string) string {
	return filepath.Join(append([]string{q.Out}, name...)...)
}

func (q *quickstart) say(format string, args ...any) {
	fmt.Fprintf(q.view.Lines(), format+"\n", args...)
}

// claim makes the folder, or recognises an unfinished quickstart of the same kind in it.
func (q *quickstart) claim() (err error) {
	if q.Out == "" {
		return &problem.Problem{Code: problem.Setting, What: "no folder to write into", Fix: "name one with --out"}
	}
	q.folder, err = folder.Open(q.Out, "quickstart", nil, map[string]string{"seed": fmt.Sprint(q.Seed), "control": fmt.Sprint(q.Control)})
	return err
}

// write makes the data files and the model to start from.
func (q *quickstart) write(context.Context) error {
	q.say("writing %d sloppy demonstrations, %d prompts, and a model of random weights", demoCount, promptCount)
	steps := []struct {
		name string
		rows iter.Seq[any]
	}{
		{"demos.jsonl", demos(q.Seed)},
		{"prompts.jsonl", shopTasks(shop.Train, q.Seed, promptCount)},
		{"held_out.jsonl", shopTasks(shop.HeldOut, q.Seed, selectCount)},
		{"fresh.jsonl", shopTasks(shop.HeldOut, q.Seed+1<<32, freshCount)},
	}
	for _, s := range steps {
		if err := writeRows(q.path(s.name), s.rows); err != nil {
			return err
		}
	}
	if _, err := os.Stat(q.path("init")); err == nil {
		return nil
	}
	return models.Init(models.InitConfig{Out: q.path("init"), Shape: models.TinyShape(), Seed: q.Seed, Texts: demoTexts(q.Seed), VocabSize: vocabulary, Visible: []string{"<answer>", "</answer>"}})
}

// writeRows writes a JSONL file unless it is there: what lies there was written whole.
func writeRows(path string, rows iter.Seq[any]) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	err := atomicfile.WriteFunc(path, func(w io.Writer) error {
		for row := range rows {
			text, err := json.Marshal(row)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s\n", text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return &problem.Problem{Code: problem.Resource, Where: path, What: "cannot write", Why: problem.Reason(err), Fix: "make room or choose another folder", Err: err}
	}
	return nil
}

// demos are the demonstrations as rows for `molt sft`.
func demos(seed uint64) iter.Seq[any] {
	return func(yield func(any) bool) {
		for i := range demoCount {
			if !yield(map[string]any{"messages": shop.Demo(seed, i).Messages}) {
				return
			}
		}
	}
}

// demoTexts are rendered demonstrations, for training the tokenizer.
func demoTexts(seed uint64) iter.Seq[string] {
	template := chat.Builtin()
	return func(yield func(string) bool) {
		for i := range tokenizerCount {
			text, err := template.Render(shop.Demo(seed, i), false)
			if err != nil {
				panic("run: the built-in template does not render a demonstration: " + err.Error())
			}
			if !yield(text) {
				return
			}
		}
	}
}

// shopTasks are prompts as rows for `molt rl`.
func shopTasks(split shop.Split, seed uint64, n int) iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, row := range shop.Tasks(split, seed, n) {
			if !yield(row) {
				return
			}
		}
	}
}

// sftConfig imitates the demonstrations: small batches, each demonstration once.
func (q *quickstart) sftConfig() recipe.SFTConfig {
	c := recipe.SFTDefaults()
	c.Model.Path, c.Model.Adam.LR, c.Model.Adam.WeightDecay = q.path("init"), 3e-3, 0.01
	c.Model.Scheduler, c.Model.WarmupSteps = "cosine", 20
	c.Data.Dataset, c.Data.MaxLen = []string{q.path("demos.jsonl")}, 512
	c.Train.Steps, c.Train.BatchSize, c.Train.MicroTokens, c.Train.Seed = demoCount/8, 8, 1024, q.Seed
	c.Ckpt.Path, c.Ckpt.SaveSteps, c.Ckpt.MaxNum = q.path("sft"), 200, 1
	c.Engine.Threads = q.Threads
	return c
}

// rlConfig is GRPO on the outcome reward alone.
func (q *quickstart) rlConfig() recipe.Config {
	c := recipe.Defaults()
	c.Model.Path = q.path("sft", folder.FinalDir)
	c.Data.Prompts, c.Data.LabelKey, c.Data.IDKey = []string{q.path("prompts.jsonl")}, "label", "id"
	c.Agent.Name, c.Agent.MaxTurns = "shop", shop.Turns
	c.Rollout.BatchSize, c.Rollout.Samples, c.Rollout.MaxNewTokens, c.Rollout.MaxLen = 32, 8, 48, 320
	c.Actor.Adam.LR, c.Actor.Adam.Betas = 7e-4, []float64{0.9, 0.99}
	c.Actor.Scheduler, c.Actor.WarmupSteps, c.Actor.MinLRRatio = "linear", 3, 0.1
	c.Train.Steps, c.Train.BatchSize, c.Train.MicroTokens, c.Train.Seed = 40, 64, 1024, q.Seed
	c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = []string{q.path("held_out.jsonl")}, 4, true
	c.Ckpt.Path = q.path("rl")
	c.Reward.Shuffle = q.Control
	c.Engine.Threads = q.Threads
	return c
}

// imitate is the supervised part.
func (q *quickstart) imitate(ctx context.Context) error {
	c := q.sftConfig()
	result, err := resumable(q.path("sft"), func() (*finetune.Result, error) {
		return finetune.Run(ctx, &c, recommended(&c, recipe.SFTDefaults()), q.stage())
	})
	if err != nil {
		return err
	}
	q.result.SFTSeconds = result.Seconds
	q.result.Trained += result.Trained
	return nil
}

// reinforce is the part that this program is for.
func (q *quickstart) reinforce(ctx context.Context) error {
	c := q.rlConfig()
	result, err := resumable(q.path("rl"), func() (*RLResult, error) { return RL(ctx, &c, recommended(&c, recipe.Defaults()), q.stage()) })
	if err != nil {
		return err
	}
	q.result.RLSeconds = result.Seconds
	q.result.Generated += result.Generated
	q.result.Trained += result.Trained
	return nil
}

// stage is the view of one part: the command that resumes is the whole quickstart's.
func (q *quickstart) stage() leg.View { return q.view }

// recommended lists the settings of a part, and says which of them the quickstart chose.
func recommended[C any](c *C, defaults C) []*recipe.Setting {
	settings, builtIn := recipe.Settings(c), recipe.Settings(&defaults)
	for i, s := range settings {
		if s.Text() != builtIn[i].Text() {
			s.Source = "quickstart"
		}
	}
	return settings
}

// resumable runs a part unless it is finished already, and gives its result.
func resumable[R any](dir string, part func() (*R, error)) (*R, error) {
	if r, err := folder.ResultOf[R](dir); r != nil || err != nil {
		return r, err
	}
	return part()
}

// measure tries both models on episodes that neither training nor the choice of the checkpoint has seen.
func (q *quickstart) measure(ctx context.Context) error {
	q.say("measuring on %d fresh held-out episodes", freshCount)
	for i, path := range []string{q.path("sft", folder.FinalDir), q.result.Checkpoint} {
		for _, temperature := range []float64{1, 0} {
			c := q.rlConfig()
			c.Model.Path, c.Eval.Dataset, c.Eval.Temperature = path, []string{q.path("fresh.jsonl")}, temperature
			r, err := Eval(ctx, &c, leg.View{})
			if err != nil {
				return err
			}
			q.result.Generated += r.Sampled
			*[]*float64{&q.result.Base, &q.result.BaseGreedy, &q.result.Final, &q.result.FinalGreedy}[2*i+int(1-temperature)] = r.PassAt1
			if temperature == 1 {
				q.result.Turns[i] = r.Turns
			}
		}
	}
	return nil
}
