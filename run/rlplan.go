// What a dry run says of reinforcement learning, an evaluation and the quickstart.

package run

import (
	"context"
	"errors"
	"fmt"
	"os"

	"molt/engine/local"
	"molt/internal/spell"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/models"
	"molt/run/recipe"
	"molt/weights"
)

// PlanRL says what `molt rl` would do.
func PlanRL(ctx context.Context, cfg *recipe.Config) (*leg.Plan, error) {
	r, err := preflight(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer r.close()
	m, err := local.Plan(r.learned(), r.engine)
	if err != nil {
		return nil, err
	}
	p := &leg.Plan{
		Command: "rl", Model: r.model.Path, Parameters: int64(r.shape.ParamCount()), Prompts: r.prompts, HeldOut: len(r.heldOut),
		Steps: r.steps, Updates: r.updates, Rollouts: cfg.Rollout.BatchSize * cfg.Rollout.Samples,
		StepTokens: int64(cfg.Rollout.BatchSize*cfg.Rollout.Samples) * int64(cfg.Rollout.MaxLen),
	}
	p.Add("weights as read", 4*p.Parameters)
	p.Trained = m.Trained
	if a, warns := r.defaultRate(); warns {
		p.Notes = append(p.Notes, a.Sentence+"; "+a.Fix)
	}
	p.Seconds, p.Bound = r.effort().Seconds(), true
	p.AddLearner(m)
	p.AddGenerator(m)
	if err := r.planCompanions(p); err != nil {
		return nil, err
	}
	p.AddWrites(cfg.Ckpt.Path,
		"{config.yaml,run.json,events.jsonl,rollouts.jsonl,report.html}",
		fmt.Sprintf("checkpoints/ (at most %d of %s)", cfg.Ckpt.MaxNum+1, spell.MiB(12*m.Trained)),
		"{best,last}/ (each a "+leg.Exports(cfg.Actor.LoRA, cfg.Ckpt.DType)+")")
	if c := r.others.critic; c != nil {
		p.AddWrites(cfg.Ckpt.Path, fmt.Sprintf("critics/ (one of %s for each checkpoint)", spell.MiB(12*int64(c.shape.ParamCount()))))
	}
	return p, nil
}

// planCompanions adds the memory of the models besides the policy.
func (p *rlPlan) planCompanions(plan *leg.Plan) error {
	add := func(part string, c *companion, memory func(local.Memory) int64) error {
		if c == nil {
			return nil
		}
		m, err := local.Plan(c.shape, c.engine)
		plan.Add(part, memory(m))
		return err
	}
	return errors.Join(add("reference", p.others.reference, scorerMemory), add("critic", p.others.critic, local.Memory.Learner))
}

// scorerMemory is what a model takes that never changes.
func scorerMemory(m local.Memory) int64 { return m.Scorer }

// PlanEval says what `molt eval` would do.
func PlanEval(ctx context.Context, cfg *recipe.Config) (*leg.Plan, error) {
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
	p := &leg.Plan{Command: "eval", Model: e.model.Path, Parameters: int64(shape.ParamCount()), HeldOut: len(e.tasks), Rollouts: len(e.tasks) * cfg.Eval.Samples}
	p.StepTokens = int64(p.Rollouts) * int64(cfg.Rollout.MaxLen)
	p.Seconds, p.Bound = leg.Effort{Parameters: p.Parameters, Generated: rolloutTokens(cfg, int64(p.Rollouts)), Threads: cfg.Engine.Threads}.Seconds(), true
	p.Add("weights as read", 4*p.Parameters)
	p.AddGenerator(m)
	p.Writes = []string{"nothing"}
	return p, nil
}

// PlanQuickstart says what `molt quickstart` would do.
func PlanQuickstart(c QuickstartConfig) (*leg.Plan, error) {
	q := &quickstart{QuickstartConfig: c}
	shape, err := local.Shape(quickstartShape())
	if err != nil {
		return nil, err
	}
	rl := q.rlConfig()
	shape.MaxPositions = rl.Rollout.MaxLen
	m, err := leg.PlannedMemory(shape, models.Engine(c.Threads, rl.Rollout.BatchSize*rl.Rollout.Samples, rl.Engine.CacheMiB, rl.Train.MicroTokens, shape))
	if err == nil {
		err = leg.Fits(m.Learner()+m.Generator(), "nothing: the quickstart is as small as it gets")
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(q.path(folder.RecordFile)); err == nil {
		q.say("%s holds a quickstart already; the same command resumes an unfinished one", spell.Quoted(c.Out))
	}
	p := &leg.Plan{
		Command: "quickstart", Model: q.path("init"), Made: " (made from nothing)", Parameters: int64(shape.ParamCount()), Conversations: demoCount, Prompts: promptCount,
		HeldOut: selectCount + freshCount, Steps: int64(rl.Train.Steps), Updates: int64(rl.Train.Steps) * int64(rl.Rollout.BatchSize*rl.Rollout.Samples/rl.Train.BatchSize),
		Rollouts: rl.Rollout.BatchSize * rl.Rollout.Samples, StepTokens: int64(rl.Rollout.BatchSize*rl.Rollout.Samples) * int64(rl.Rollout.MaxLen),
	}
	p.Seconds = leg.Effort{Parameters: p.Parameters, Trained: quickstartTrained, Generated: quickstartGenerated, Threads: c.Threads}.Seconds()
	p.AddLearner(m)
	p.AddGenerator(m)
	p.AddWrites(c.Out, "{demos,prompts,held_out,fresh}.jsonl", "init/, sft/, rl/")
	return p, nil
}

// quickstartShape is the model of the quickstart, its vocabulary filled up.
func quickstartShape() weights.ModelConfig {
	shape := models.TinyShape()
	shape.VocabSize = vocabulary
	return shape
}

// rolloutTokens is the most that so many rollouts may sample, prompts left aside.
func rolloutTokens(c *recipe.Config, rollouts int64) int64 {
	return rollouts * int64(min(c.Rollout.MaxLen, c.Agent.MaxTurns*c.Rollout.MaxNewTokens))
}

func (p *rlPlan) effort() leg.Effort {
	c := p.cfg
	all := p.steps * int64(c.Rollout.BatchSize*c.Rollout.Samples)
	e := leg.Effort{Parameters: int64(p.shape.ParamCount()), Generated: rolloutTokens(c, all), Threads: c.Engine.Threads}
	tokens := all * int64(c.Rollout.MaxLen)
	e.Trained, e.Scored = tokens*int64(c.Train.MaxEpochs), tokens
	if c.Compares() {
		e.Scored += tokens
	}
	if c.Criticises() {
		e.Trained += tokens * int64(p.criticEpochs())
	}
	evaluations := int64(1)
	if c.Eval.Steps > 0 {
		evaluations += p.steps / int64(c.Eval.Steps)
	}
	e.Generated += rolloutTokens(c, evaluations*int64(len(p.heldOut)*c.Eval.Samples))
	return e
}
