// --dry-run: what a run would read, hold in memory, compute and write. Nothing is touched.

package run

import (
	"context"
	"fmt"
	"os"
	"strings"

	"molt/engine/local"
	"molt/internal/spell"
	"molt/run/folder"
	"molt/run/models"
	"molt/run/recipe"
	"molt/weights"
)

// Plan is what a run would do. What does not apply is 0 or empty.
type Plan struct {
	Command       string   `json:"command"`
	Model         string   `json:"model"`
	Made          string   `json:"-"` // how, where it is not there yet
	Parameters    int64    `json:"parameters"`
	Trained       int64    `json:"trained,omitzero"` // of them, or of an adapter
	Prompts       int      `json:"prompts,omitzero"`
	HeldOut       int      `json:"held_out,omitzero"`
	Conversations int      `json:"conversations,omitzero"`
	Steps         int64    `json:"steps,omitzero"`   // batches
	Updates       int64    `json:"updates,omitzero"` // optimizer steps
	Rollouts      int      `json:"rollouts_per_step,omitzero"`
	StepTokens    int64    `json:"max_tokens_per_step,omitzero"` // of one batch, or of an evaluation: prompts and replies, at most
	Seconds       float64  `json:"about_seconds"`                // on this machine, as busy as it is now
	Bound         bool     `json:"seconds_are_a_bound"`          // if every rollout is as long as it may be
	Notes         []string `json:"notes,omitempty"`              // what the user should think about
	Memory        []Memory `json:"memory"`
	MemoryTotal   int64    `json:"memory_total"` // bytes, at most: pages that nothing reaches cost nothing
	Writes        []string `json:"writes"`
}

// Memory is one part of a plan.
type Memory struct {
	Part  string `json:"part"`
	Bytes int64  `json:"bytes"`
}

// String is the plan as a few lines.
func (p *Plan) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-14s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("model", "%s, %d parameters", spell.Quoted(p.Model)+p.Made, p.Parameters)
	if p.Trained > 0 && p.Trained != p.Parameters {
		line("trained", "%d parameters", p.Trained)
	}
	if p.Prompts > 0 {
		line("prompts", "%d to train on, %d held out", p.Prompts, p.HeldOut)
	}
	if p.Conversations > 0 {
		line("conversations", "%d", p.Conversations)
	}
	if p.Steps > 0 {
		bound := ""
		if p.Rollouts > 0 { // one whose groups are all flat is left out
			bound = "at most "
		}
		line("steps", "%d, %s%d optimizer updates", p.Steps, bound, p.Updates)
	}
	switch {
	case p.Steps > 0 && p.Rollouts > 0:
		line("each step", "%d rollouts, at most %d tokens", p.Rollouts, p.StepTokens)
	case p.Rollouts > 0:
		line("rollouts", "%d, at most %d tokens", p.Rollouts, p.StepTokens)
	}
	line("time", "%s", p.expected())
	for _, n := range p.Notes {
		line("note", "%s", n)
	}
	line("memory", "at most %s", spell.MiB(p.MemoryTotal))
	for _, m := range p.Memory {
		line("", "%8s  %s", spell.MiB(m.Bytes), m.Part)
	}
	for i, w := range p.Writes {
		line([]string{"writes", ""}[min(i, 1)], "%s", w)
	}
	return b.String()
}

func (p *Plan) expected() string {
	if p.Bound {
		return "at most " + roughly(p.Seconds) + ": rollouts are often shorter than they may be"
	}
	return roughly(p.Seconds)
}

// writes adds what a run would write into its folder.
func (p *Plan) writes(dir string, inside ...string) {
	if dir == "" {
		p.Writes = []string{"nothing yet: a run needs a folder, --ckpt.path FOLDER"}
		return
	}
	for _, name := range inside {
		p.Writes = append(p.Writes, spell.Quoted(dir)+"/"+name)
	}
}

func (p *Plan) add(part string, bytes int64) {
	p.Memory = append(p.Memory, Memory{part, bytes})
	p.MemoryTotal += bytes
}

// PlanRL says what `molt rl` would do.
func PlanRL(ctx context.Context, cfg *recipe.Config) (*Plan, error) {
	r, err := preflight(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer r.close()
	m, err := local.Plan(r.learned(), r.engine)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Command: "rl", Model: r.model.Path, Parameters: int64(r.shape.ParamCount()), Prompts: r.prompts, HeldOut: len(r.heldOut),
		Steps: r.steps, Updates: r.updates, Rollouts: cfg.Rollout.BatchSize * cfg.Rollout.Samples,
		StepTokens: int64(cfg.Rollout.BatchSize*cfg.Rollout.Samples) * int64(cfg.Rollout.MaxLen),
	}
	p.add("weights as read", 4*p.Parameters)
	p.Trained = m.Trained
	p.Seconds, p.Bound = r.effort().seconds(), true
	p.learner(m)
	p.generator(m)
	if err := p.companions(r); err != nil {
		return nil, err
	}
	p.writes(cfg.Ckpt.Path,
		"{config.yaml,run.json,events.jsonl,rollouts.jsonl,report.html}",
		fmt.Sprintf("checkpoints/ (at most %d of %s)", cfg.Ckpt.MaxNum+1, spell.MiB(12*m.Trained)),
		"{best,last}/ ("+exports(cfg.Actor.LoRA)+"s)")
	if c := r.others.critic; c != nil {
		p.writes(cfg.Ckpt.Path, fmt.Sprintf("critics/ (one of %s for each checkpoint)", spell.MiB(12*int64(c.shape.ParamCount()))))
	}
	return p, nil
}

func (p *Plan) learner(m local.Memory) {
	p.add("learner: weights", m.LearnerWeights)
	p.add("learner: gradients and moments", m.Gradients+m.Moments)
	p.add("learner: activations of a micro-batch", m.Activations)
}

func (p *Plan) generator(m local.Memory) {
	p.add("generator: weights", m.GeneratorWeights)
	p.add("generator: KV cache", m.KV)
	p.add("generator: activations of a step", m.GeneratorWork)
}

// PlanEval says what `molt eval` would do.
func PlanEval(ctx context.Context, cfg *recipe.Config) (*Plan, error) {
	e, err := preflightEval(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer e.agent.Close()
	shape, err := models.Bounded(e.model.Shape, cfg.Rollout.MaxLen)
	if err != nil {
		return nil, err
	}
	m, err := local.Plan(shape, evalEngine(cfg, e.model, cfg.Engine.InFlight, shape))
	if err != nil {
		return nil, err
	}
	p := &Plan{Command: "eval", Model: e.model.Path, Parameters: int64(shape.ParamCount()), HeldOut: len(e.tasks), Rollouts: len(e.tasks) * cfg.Eval.Samples}
	p.StepTokens = int64(p.Rollouts) * int64(cfg.Rollout.MaxLen)
	p.Seconds, p.Bound = effort{parameters: p.Parameters, generated: rolloutTokens(cfg, int64(p.Rollouts)), threads: cfg.Engine.Threads}.seconds(), true
	p.add("weights as read", 4*p.Parameters)
	p.generator(m)
	p.Writes = []string{"nothing"}
	return p, nil
}

// PlanSFT says what `molt sft` would do.
func PlanSFT(ctx context.Context, cfg *recipe.SFTConfig) (*Plan, error) {
	s, err := preflightSFT(ctx, cfg, View{}.talk())
	if err != nil {
		return nil, err
	}
	m, err := local.Plan(s.shape, s.engine)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Command: "sft", Model: s.model.Path, Parameters: int64(s.shape.ParamCount()), Conversations: len(s.examples), Steps: s.steps, Updates: s.steps,
		StepTokens: int64(cfg.Train.BatchSize) * int64(cfg.Data.MaxLen),
	}
	p.add("weights as read", 4*p.Parameters)
	p.Trained = m.Trained
	p.Seconds, p.Notes = s.effort().seconds(), s.notes()
	p.learner(m)
	p.writes(cfg.Ckpt.Path,
		"{config.yaml,run.json,events.jsonl,report.html}",
		fmt.Sprintf("checkpoints/ (at most %d of %s)", cfg.Ckpt.MaxNum, spell.MiB(12*m.Trained)),
		"final/ ("+exports(cfg.Model.LoRA)+")")
	return p, nil
}

// PlanQuickstart says what `molt quickstart` would do.
func PlanQuickstart(c QuickstartConfig) (*Plan, error) {
	q := &quickstart{QuickstartConfig: c}
	shape, err := local.Shape(quickstartShape())
	if err != nil {
		return nil, err
	}
	rl := q.rlConfig()
	shape.MaxPositions = rl.Rollout.MaxLen
	m, err := plannedMemory(shape, models.Engine(c.Threads, rl.Rollout.BatchSize*rl.Rollout.Samples, rl.Engine.CacheMiB, rl.Train.MicroTokens, shape))
	if err == nil {
		err = fits(m.Learner()+m.Generator(), "nothing: the quickstart is as small as it gets")
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(q.path(folder.RecordFile)); err == nil {
		q.say("%s holds a quickstart already; the same command resumes an unfinished one", spell.Quoted(c.Out))
	}
	p := &Plan{
		Command: "quickstart", Model: q.path("init"), Made: " (made from nothing)", Parameters: int64(shape.ParamCount()), Conversations: demoCount, Prompts: promptCount,
		HeldOut: selectCount + freshCount, Steps: int64(rl.Train.Steps), Updates: int64(rl.Train.Steps) * int64(rl.Rollout.BatchSize*rl.Rollout.Samples/rl.Train.BatchSize),
		Rollouts: rl.Rollout.BatchSize * rl.Rollout.Samples, StepTokens: int64(rl.Rollout.BatchSize*rl.Rollout.Samples) * int64(rl.Rollout.MaxLen),
	}
	p.Seconds = effort{parameters: p.Parameters, trained: quickstartTrained, generated: quickstartGenerated, threads: c.Threads}.seconds()
	p.learner(m)
	p.generator(m)
	p.writes(c.Out, "{demos,prompts,held_out,fresh}.jsonl", "init/, sft/, rl/")
	return p, nil
}

// quickstartShape is the model of the quickstart, its vocabulary filled up.
func quickstartShape() weights.ModelConfig {
	shape := models.TinyShape()
	shape.VocabSize = vocabulary
	return shape
}
