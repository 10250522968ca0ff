// Everything that supervised fine-tuning can know before its first step: settings that make sense, a model that opens,
// and every conversation laid out as tokens.

package finetune

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"molt/chat"
	"molt/engine/local"
	"molt/metrics"
	"molt/numeric/model"
	"molt/prompts"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/machine"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/run/tasks"
	"molt/train"
)

// plan is a configuration with everything resolved that the loop needs.
type plan struct {
	cfg      *recipe.SFTConfig
	model    *models.Model
	shape    model.Config
	engine   local.Config
	stream   *prompts.Stream
	examples map[string]train.Example // by exampleKey; rows that are too long are not in it
	heldOut  []train.Example
	inputs   map[string]string
	steps    int64
	tooLong  int // conversations left out
	odd      int // assistant turns that do not read back as they were written
}

func exampleKey(p prompts.Prompt) string { return p.Source + "\x00" + p.ID }

// preflight opens and checks everything that a run reads, and writes nothing.
func preflight(ctx context.Context, cfg *recipe.SFTConfig, talk io.Writer) (*plan, error) {
	p := &plan{cfg: cfg, inputs: map[string]string{}, examples: map[string]train.Example{}}
	if err := p.settings(); err != nil {
		return nil, err
	}
	var err error
	if p.model, err = models.Open(cfg.Model.Path); err != nil {
		return nil, err
	}
	if err := p.model.NeedTemplate(); err != nil {
		return nil, err
	}
	if err := leg.Adapt(p.model, cfg.Model.Adapter, "model.", cfg.Model.LoRA); err != nil {
		return nil, err
	}
	p.model.Identify(p.inputs)
	if cfg.Data.MaxLen > p.model.Shape.MaxPositions {
		return nil, &problem.Problem{Code: problem.Setting, What: fmt.Sprintf("data.max_len is %d and the model sees at most %d tokens", cfg.Data.MaxLen, p.model.Shape.MaxPositions), Fix: "lower data.max_len"}
	}
	p.shape = p.model.Shape
	p.shape.MaxPositions = cfg.Data.MaxLen
	if err := p.data(ctx); err != nil {
		return nil, err
	}
	p.engine = models.Engine(cfg.Engine.Threads, 0, 0, cfg.Train.MicroTokens, p.shape)
	p.engine.Optimizer = leg.Optimizer(cfg.Model.OptimConfig)
	p.engine.LoRA = leg.LoRA(cfg.Model.LoRA, p.model, cfg.Train.Seed)
	if err := leg.Usable("model.", p.engine, p.shape); err != nil {
		return nil, err
	}
	if err := p.schedule().Validate(); err != nil {
		return nil, &problem.Problem{Code: problem.Setting, Where: "model.lr_warmup_steps", What: err.Error(), Fix: "shorten the warm-up or take more steps", Err: err}
	}
	fmt.Fprintf(talk, "%d conversations, %d steps of %d\n", len(p.examples), p.steps, cfg.Train.BatchSize)
	for _, n := range p.notes() {
		fmt.Fprintf(talk, "note: %s\n", n)
	}
	m, err := leg.PlannedMemory(p.shape, p.engine)
	if err != nil {
		return nil, err
	}
	return p, leg.Fits(m.Learner(), "train.max_tokens_per_micro_batch or data.max_len")
}

// notes are what the user should think about: a plan of a handful of steps that nobody asked for learns next to nothing.
func (p *plan) notes() []string {
	const few = 10
	if p.cfg.Train.Steps > 0 || p.steps >= few {
		return nil
	}
	return []string{fmt.Sprintf("only %d steps of %d conversations: lower train.batch_size, raise train.max_epochs, or say train.steps", p.steps, p.cfg.Train.BatchSize)}
}

// defaultRate warns of a learning rate that nobody chose.
func (p *plan) defaultRate() (metrics.Alarm, bool) {
	return leg.DefaultRate("model.", p.cfg.Model.OptimConfig, recipe.SFTDefaults().Model.OptimConfig, int64(p.shape.ParamCount()))
}

func (p *plan) settings() error {
	var problems []error
	c := p.cfg
	if len(c.Data.Dataset) == 0 {
		problems = append(problems, &problem.Problem{Code: problem.Combined, Where: "data.dataset", What: "no conversations to learn from", Fix: "name JSONL files"})
	}
	if c.Data.InputKey == "" {
		problems = append(problems, &problem.Problem{Code: problem.Combined, Where: "data.input_key", What: "no key to read a row's conversation from", Fix: "name it, or leave the setting out"})
	}
	if len(c.Data.Probs) > 0 && len(c.Data.Probs) != len(c.Data.Dataset) {
		problems = append(problems, &problem.Problem{Code: problem.Combined, Where: "data.dataset_probs", What: fmt.Sprintf("%d weights for %d files", len(c.Data.Probs), len(c.Data.Dataset)), Fix: "give one weight for each file, or none"})
	}
	if c.Train.Steps > 0 && c.Train.MaxEpochs != recipe.SFTDefaults().Train.MaxEpochs {
		problems = append(problems, &problem.Problem{Code: problem.Combined, Where: "train.max_epochs", What: "it has no effect: train.steps says how long to train", Fix: "leave one of the two out"})
	}
	refuse := func(setting, why, fix string) {
		problems = append(problems, &problem.Problem{Code: problem.Combined, Where: setting, What: why, Fix: fix})
	}
	c.Model.OptimConfig.Unread("model.", refuse)
	c.Model.LoRA.Unread("model.", c.Model.OptimConfig, refuse)
	for setting, changed := range map[string]bool{"ckpt.dtype": c.Ckpt.DType != recipe.SFTDefaults().Ckpt.DType, "ckpt.max_shard_size": c.Ckpt.MaxShard != recipe.SFTDefaults().Ckpt.MaxShard} {
		if changed && c.Model.LoRA.ExportsAdapter() {
			refuse(setting, "it has no effect: an adapter is written as it was trained", "leave it out, or set model.lora.export to merged")
		}
	}
	if len(c.Eval.Dataset) == 0 && c.Eval.Steps > 0 {
		problems = append(problems, &problem.Problem{Code: problem.Combined, Where: "eval.steps", What: "evaluation is wanted and there is nothing to evaluate on", Fix: "name JSONL files with --eval.dataset"})
	}
	return errors.Join(problems...)
}

func (p *plan) schedule() local.Schedule { return leg.Schedule(p.cfg.Model.OptimConfig, p.steps) }

// data reads the files, lays every conversation out, and counts the steps.
func (p *plan) data(ctx context.Context) error {
	c := p.cfg
	keys := prompts.Keys{Messages: c.Data.InputKey, Tools: c.Data.ToolsKey}
	if c.Data.OutputKey != "" {
		keys = prompts.Keys{Input: c.Data.InputKey, Label: c.Data.OutputKey, Tools: c.Data.ToolsKey}
	}
	sets, err := tasks.Read(c.Data.Dataset, c.Data.Probs, keys, c.Data.MaxSamples)
	if err != nil {
		return err
	}
	rows := 0
	for _, set := range sets {
		rows += set.Len()
		if err := p.layoutSet(ctx, set, func(key string, e train.Example) { p.examples[key] = e }); err != nil {
			return err
		}
	}
	if len(p.examples) == 0 {
		return &problem.Problem{Code: problem.Data, Where: c.Data.Dataset[0], What: fmt.Sprintf("no conversation fits into %d tokens", c.Data.MaxLen), Fix: "raise data.max_len"}
	}
	p.steps = int64(c.Train.Steps)
	if p.steps == 0 {
		p.steps = int64((len(p.examples)*c.Train.MaxEpochs + c.Train.BatchSize - 1) / c.Train.BatchSize)
	}
	if p.stream, err = prompts.NewStream(prompts.Config{Seed: c.Train.Seed, Shuffle: true, Exhausted: prompts.EndAll}, tasks.Plain(sets)...); err != nil {
		return &problem.Problem{Code: problem.Data, What: err.Error(), Fix: "mend the data settings", Err: err}
	}
	return p.heldOutData(ctx, keys)
}

func (p *plan) heldOutData(ctx context.Context, keys prompts.Keys) error {
	sets, err := tasks.Read(p.cfg.Eval.Dataset, nil, keys, 0)
	if err != nil {
		return err
	}
	for _, set := range sets {
		if err := p.layoutSet(ctx, set, func(_ string, e train.Example) { p.heldOut = append(p.heldOut, e) }); err != nil {
			return err
		}
	}
	p.inputs, err = tasks.Digests(p.inputs, append(append([]string{}, p.cfg.Data.Dataset...), p.cfg.Eval.Dataset...))
	return err
}

// layoutSet lays out the rows of a set on all cores, and gives them in the order of the file.
func (p *plan) layoutSet(ctx context.Context, set *tasks.Set, give func(key string, e train.Example)) error {
	rows := set.All(p.cfg.Train.Seed)
	layouts, errs := make([]chat.Layout, len(rows)), make([]error, len(rows))
	var workers sync.WaitGroup
	share := (len(rows) + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	for start := 0; start < len(rows); start += share {
		workers.Go(func() {
			for i := start; i < min(start+share, len(rows)) && ctx.Err() == nil; i++ {
				layouts[i], errs[i] = p.layout(set.File, rows[i])
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return leg.BeforeAnything(ctx)
	}
	if err := leg.FirstErrors(errs, leg.MaxProblems); err != nil {
		return err
	}
	for i, l := range layouts {
		p.odd += l.Odd
		if len(l.IDs) > p.cfg.Data.MaxLen {
			p.tooLong++
			continue
		}
		give(exampleKey(rows[i]), train.Example{Tokens: l.IDs, Learn: p.learned(l.Action)})
	}
	return nil
}

func (p *plan) layout(file string, row prompts.Prompt) (chat.Layout, error) {
	t, err := tasks.Of(file, row)
	if err != nil {
		return chat.Layout{}, err
	}
	c := chat.Conversation{Messages: t.Messages, Tools: t.Tools}
	if p.cfg.Data.OutputKey != "" {
		c.Messages = append(c.Messages, chat.Message{Role: chat.Assistant, Content: row.Label})
	}
	l, err := p.model.Renderer.Layout(c)
	if err != nil {
		return l, tasks.Problem(file, row, err)
	}
	return l, nil
}

// learned is the mask of what is learned: all assistant turns, or only the last one.
func (p *plan) learned(action []bool) []bool {
	if !p.cfg.Data.LastTurn {
		return action
	}
	last := make([]bool, len(action))
	t := len(action) - 1
	for ; t >= 0 && !action[t]; t-- {
	}
	for ; t >= 0 && action[t]; t-- {
		last[t] = true
	}
	return last
}

// next gives the examples of the next step.
func (p *plan) next(n int) []train.Example {
	var batch []train.Example
	for len(batch) < n {
		row, ok := p.stream.Next()
		if !ok {
			break
		}
		if e, fits := p.examples[exampleKey(row)]; fits {
			batch = append(batch, e)
		}
	}
	return batch
}

// started is the first event of a leg.
func (p *plan) started(f *folder.Folder, view leg.View, from string) metrics.RunStarted {
	config, _ := os.ReadFile(f.File(folder.ConfigFile)) // written by OpenFolder; a report without it is still a report
	return metrics.RunStarted{
		Name: f.Path, Method: "sft", Command: view.Command, ConfigDigest: f.Digest(), Config: string(config), Seed: p.cfg.Train.Seed,
		Model:   metrics.Model{Name: p.model.Path, Params: int64(p.shape.ParamCount()), Vocab: p.shape.Vocab, Context: p.shape.MaxPositions, Fingerprint: p.model.Weights.Fingerprint},
		Machine: machine.Here(p.cfg.Engine.Threads), Build: machine.Build(), Plan: metrics.Plan{SFTSteps: p.steps}, ResumedFrom: from,
	}
}
