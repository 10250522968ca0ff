// Evaluation by itself: a model, held-out prompts, and how often it succeeds.

package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"molt/agent"
	"molt/engine/local"
	"molt/internal/spell"
	"molt/metrics"
	"molt/numeric/model"
	"molt/prompts"
	"molt/rollout"
	"molt/run/doctor"
	"molt/run/doors"
	"molt/run/leg"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/run/tasks"
	"molt/traj"
)

// EvalResult says how a model did. Rates are fractions of 1, counted by rollout.
type EvalResult struct {
	Model       string                        `json:"model"`
	Fingerprint string                        `json:"fingerprint"`
	Prompts     int                           `json:"prompts"`
	Samples     int                           `json:"samples"` // k: rollouts of each prompt
	Temperature float64                       `json:"temperature"`
	PassAt1     float64                       `json:"pass_at_1"`
	PassAtK     float64                       `json:"pass_at_k"`
	Score       float64                       `json:"score"`  // mean of the environment's score
	Turns       float64                       `json:"turns"`  // mean of a graded rollout
	Failed      float64                       `json:"failed"` // share that could not be graded; in no mean
	Outcomes    map[string]int                `json:"outcomes"`
	Sources     map[string]metrics.EvalSource `json:"sources,omitempty"`
	Sampled     int64                         `json:"tokens_sampled"`
	Seconds     float64                       `json:"seconds"`
}

// String is the result as a few lines.
func (r *EvalResult) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d prompts x %d rollouts at temperature %g, %.1f s\n", r.Prompts, r.Samples, r.Temperature, r.Seconds)
	fmt.Fprintf(&b, "pass@1  %.1f %%\n", 100*r.PassAt1)
	if r.Samples > 1 {
		fmt.Fprintf(&b, "pass@%d  %.1f %%\n", r.Samples, 100*r.PassAtK)
	}
	for _, o := range traj.Outcomes {
		if n := r.Outcomes[string(o)]; n > 0 {
			fmt.Fprintf(&b, "%-15s %d\n", o, n)
		}
	}
	return b.String()
}

// Eval measures cfg's model on cfg's held-out prompts. It writes nothing.
func Eval(ctx context.Context, cfg *recipe.Config, view leg.View) (_ *EvalResult, err error) {
	p, err := preflightEval(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.agent.Close()) }()
	doctor.Warn(view.Lines(), p.model)
	fmt.Fprintf(view.Lines(), "evaluating %s on %d prompts\n", spell.Quoted(p.model.Path), len(p.tasks))
	e, clock, err := p.evaluate(ctx)
	if err != nil {
		return nil, err
	}
	if err := gradable(cfg, e); err != nil {
		return nil, err
	}
	return evalResult(cfg, p.model, e, clock), nil
}

// gradable refuses an evaluation of which nothing could be graded: it says nothing about the model.
func gradable(cfg *recipe.Config, e *rollout.Evaluation) error {
	if e.Failed() < 1 {
		return nil
	}
	r := e.Groups[0].Rollouts[0]
	return &problem.Problem{
		Code: problem.Alarm, Where: strings.Join(cfg.Eval.Dataset, ","), What: "no rollout could be graded",
		Why: fmt.Sprintf("the first ended as %s: %s", r.Outcome, r.Detail), Fix: "mend the agent or the data",
	}
}

// evalPlan is what an evaluation reads, opened and checked.
type evalPlan struct {
	cfg   *recipe.Config
	model *models.Model
	agent *doors.Agent
	tasks []agent.Task
}

func preflightEval(ctx context.Context, cfg *recipe.Config) (*evalPlan, error) {
	if len(cfg.Eval.Dataset) == 0 {
		return nil, &problem.Problem{Code: problem.Combined, Where: "eval.dataset", What: "nothing to evaluate on", Fix: "name JSONL files with --eval.dataset"}
	}
	m, err := models.Open(cfg.Model.Path)
	if err != nil {
		return nil, err
	}
	if err := m.NeedTemplate(); err != nil {
		return nil, err
	}
	if err := m.Adapt(cfg.Model.Adapter); err != nil {
		return nil, err
	}
	keys := prompts.Keys{Input: cfg.Data.InputKey, Label: tasks.LabelKey(cfg.Data.LabelKey, cfg.Eval.Dataset...), Tools: cfg.Data.ToolsKey, ID: cfg.Data.IDKey}
	sets, err := tasks.Read(cfg.Eval.Dataset, nil, keys, cfg.Eval.MaxSamples)
	if err != nil {
		return nil, err
	}
	a, err := openAgent(ctx, cfg, m)
	if err != nil {
		return nil, err
	}
	tasks, err := tasks.HeldOut(sets, cfg.Train.Seed)
	if err == nil {
		err = possible(ctx, m, cfg, a.Env(), sets)
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return &evalPlan{cfg, m, a, tasks}, nil
}

// evaluate runs the tasks on a generator of its own.
func (p *evalPlan) evaluate(ctx context.Context) (_ *rollout.Evaluation, _ *leg.Clock, err error) {
	cfg, m := p.cfg, p.model
	shape, err := models.Bounded(m.Shape, cfg.Rollout.MaxLen)
	if err != nil {
		return nil, nil, err
	}
	capacity := cfg.Engine.InFlight
	if capacity == 0 {
		capacity = min(128, len(p.tasks)*cfg.Eval.Samples)
	}
	config := evalEngine(cfg, m, capacity, shape)
	config.Copied = m.Release
	generator, err := local.NewGenerator(shape, m.Weights, config)
	if err != nil {
		return nil, nil, leg.NotStarted(m.Path, err)
	}
	defer func() { err = errors.Join(err, generator.Close()) }()
	whole, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if err := p.agent.Start(watched{generator, m.Path, fail}, nil); err != nil {
		return nil, nil, err
	}
	return drive(whole, evalDriver(cfg, shape.Vocab, capacity), p.agent.Runner(), p.tasks, cfg.Eval.Samples)
}

// evalEngine sizes the generator of an evaluation.
func evalEngine(cfg *recipe.Config, m *models.Model, capacity int, shape model.Config) local.Config {
	c := models.Engine(cfg.Engine.Threads, capacity, cfg.Engine.CacheMiB, 0, shape)
	if a := m.Weights.Adapter; a != nil { // for the plan
		c.LoRA = local.LoRA{Rank: a.Rank, Alpha: a.Alpha, RSLoRA: a.RSLoRA, Targets: local.PEFT(m.Weights).Adapted()}
	}
	return c
}

func evalDriver(cfg *recipe.Config, vocab, capacity int) rollout.Config {
	c := rollout.Defaults()
	c.Vocab = vocab
	c.Sched.Capacity = capacity
	c.Sched.Limits.Turns, c.Sched.Limits.Tokens = cfg.Agent.MaxTurns, cfg.Rollout.MaxLen
	c.Sched.Limits.Attempts, c.Sched.Limits.Time = 1+cfg.Rollout.Retries, int64(cfg.Agent.Timeout*1000)
	return c
}

// drive starts a driver for one evaluation and stops it again.
func drive(ctx context.Context, c rollout.Config, runner agent.Runner, list []agent.Task, samples int) (*rollout.Evaluation, *leg.Clock, error) {
	driver, err := rollout.New(c, runner, tasks.None{}, 0)
	if err != nil {
		return nil, nil, err
	}
	clock := leg.NewClock()
	driving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1) // one: the driver's only message, kept until it is asked for
	go func() { ended <- driver.Run(driving) }()
	e, err := driver.Evaluate(ctx, list, samples)
	clock.Lap("evaluate")
	stop()
	if broken := <-ended; broken != nil {
		err = broken
	}
	if failed := brokenEngine(ctx); failed != nil {
		err = failed
	} else if err != nil && ctx.Err() != nil {
		err = &problem.Problem{Code: problem.Interrupted, What: "the evaluation was stopped", Fix: "run it again", Err: err}
	}
	return e, clock, err
}

func evalResult(cfg *recipe.Config, m *models.Model, e *rollout.Evaluation, clock *leg.Clock) *EvalResult {
	event := evalEvent(0, e, cfg, clock)
	r := &EvalResult{
		Model: m.Path, Fingerprint: m.Weights.Fingerprint, Prompts: len(e.Groups), Samples: cfg.Eval.Samples, Temperature: cfg.Eval.Temperature,
		PassAt1: event.PassAt1, PassAtK: event.PassAtK, Turns: event.Turns.Mean, Failed: e.Failed(), Outcomes: event.Outcomes, Sources: event.Sources,
		Seconds: clock.Total(),
	}
	r.Score, _ = e.Score()
	for _, g := range e.Groups {
		for _, roll := range g.Rollouts {
			r.Sampled += int64(roll.Sampled())
		}
	}
	return r
}
