// Reinforcement learning, composed: this file closes the circle of the loop and is the only place that does.

package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"molt/agent"
	"molt/internal/spell"
	"molt/metrics"
	"molt/rollout"
	"molt/rollout/sched"
	"molt/run/doors"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/run/tasks"
	"molt/train"
)

// RL runs, or resumes, reinforcement learning in the folder cfg.Ckpt.Path.
func RL(ctx context.Context, cfg *recipe.Config, settings []*recipe.Setting, view leg.View) (*RLResult, error) {
	return rlWith(ctx, embedded, cfg, settings, view)
}

// rlWith is RL on engines that start gives.
func rlWith(ctx context.Context, start func(*rlPlan) (*engines, error), cfg *recipe.Config, settings []*recipe.Setting, view leg.View) (result *RLResult, err error) {
	whole, fail := context.WithCancelCause(context.WithoutCancel(ctx))
	defer fail(nil)
	r := &rlRun{cfg: cfg, view: view, start: start, fail: fail, started: time.Now()}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.open(ctx, settings); err != nil {
		return nil, err
	}
	return r.run(ctx, whole)
}

// rlRun is a run of reinforcement learning with everything that it opened.
type rlRun struct {
	cfg      *recipe.Config
	view     leg.View
	start    func(*rlPlan) (*engines, error)
	fail     context.CancelCauseFunc // ends everything: the engine cannot go on
	started  time.Time
	folder   *folder.Folder
	model    *models.Model
	engines  *engines
	trainer  *train.Trainer
	driver   *rollout.Driver
	source   *tasks.Source
	heldOut  []agent.Task
	recorder *recorder
	agent    *doors.Agent
	log      *metrics.Log
	keeper   *metrics.Keeper
	saved    progress
	boundary json.RawMessage // where the run stands, as a rollout.Snapshot; nil within a step
	unsaved  bool            // no checkpoint holds the boundary
	clock    *leg.Clock      // since the last step
	sampling *leg.Sampled    // since the weights that serve were published
	share    float64         // of ckpt.max_mem for the policy's part of checkpoints
	lost     atomic.Int64    // groups in a row of which nothing was graded
	alike    alike           // groups by how they failed
	unparsed bool            // the alarm about unread tool calls was raised
	closers  []func() error  // in order of start; close goes backwards
}

// run drives the loop to its end. The driver's goroutine has ended when it returns. An interrupt ends ctx: then the loop
// finishes the step in hand, and what is being generated is given up. A broken engine ends whole, and with it any step.
func (r *rlRun) run(ctx, whole context.Context) (*RLResult, error) {
	driving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1) // one: the driver's only message, kept until it is asked for
	go func() { ended <- r.driver.Run(driving) }()
	r.sampling, r.clock = leg.NewSampling(), leg.NewClock()
	doing, forget := either(ctx, whole)
	err := r.loop(doing, whole)
	if errors.Is(err, rollout.ErrEnd) {
		err = r.early(doing, err)
	}
	if broken := brokenEngine(whole); broken != nil {
		err = broken
	}
	forget()
	stop()
	if broken := <-ended; broken != nil {
		err = broken // a broken promise is the cause of whatever the loop saw
	}
	return r.end(ctx, err)
}

// loop is the algorithm: take a batch, train on it, serve the new weights; now and then evaluate; save.
func (r *rlRun) loop(ctx, whole context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	for !r.over() {
		batch, err := r.driver.Next(ctx)
		if err != nil {
			return err
		}
		r.sampling.Stop(batch.Groups)
		if err := r.step(whole, batch); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// step goes from one boundary to the next: what the run is between them cannot be saved.
func (r *rlRun) step(ctx context.Context, batch sched.Batch) error {
	step := r.saved.Step + 1
	r.boundary = nil
	r.clock.Lap("generate")
	r.lost.Store(0)
	trained, err := r.trainer.Step(ctx, batch.Groups)
	if err != nil {
		return err
	}
	r.clock.Lap("train")
	if err := r.driver.Publish(ctx, trained.Version, func(ctx context.Context) error { return r.serveTrained(ctx, trained) }); err != nil {
		return err
	}
	r.clock.Lap("publish")
	stats, err := r.driver.Stats(ctx)
	if err != nil {
		return err
	}
	r.report(step, batch, trained, r.saved.dropped(stats.Dropped, batch))
	r.sampling, r.clock = leg.NewSampling(), leg.NewClock()
	r.saved.Step = step
	if r.evaluates(step) {
		if err := r.evaluate(ctx); err != nil {
			return err
		}
	}
	if err := r.arrive(ctx); err != nil {
		return err
	}
	if r.over() || step%int64(r.cfg.Ckpt.SaveSteps) == 0 || r.saved.bestIs(step) {
		return r.save(ctx)
	}
	return nil
}

// early is for a run whose batches ended before its steps: when the prompts are used up it has come to its end, and the
// held-out prompts are tried a last time. Any other reason is an alarm.
func (r *rlRun) early(ctx context.Context, end error) error {
	if r.saved.Step == 0 || !strings.HasSuffix(end.Error(), sched.UsedUp) {
		return &problem.Problem{
			Code: problem.Alarm, Where: r.folder.Path, What: fmt.Sprintf("the run ended after step %d", r.saved.Step), Why: end.Error(),
			Fix: "look at the outcomes with `molt show " + spell.Quoted(r.folder.Path) + "`; then mend the agent, loosen the filter, or add prompts",
			Err: end,
		}
	}
	if len(r.heldOut) == 0 || r.saved.Last != nil && r.saved.Last.Step == r.saved.Step {
		return nil
	}
	return r.evaluate(ctx)
}

// begin evaluates and saves what training starts from, unless the run is resumed.
func (r *rlRun) begin(ctx context.Context) error {
	if r.saved.Resumed {
		return nil
	}
	if r.cfg.Eval.AtStart {
		if err := r.evaluate(ctx); err != nil {
			return err
		}
	}
	if err := r.arrive(ctx); err != nil {
		return err
	}
	return r.save(ctx)
}

// serve hands the learner's weights to the generator.
func (r *rlRun) serve(ctx context.Context) error {
	w, err := r.engines.models.Policy.Weights(ctx)
	if err != nil {
		return err
	}
	return r.engines.generator.Publish(ctx, w)
}

// serveTrained hands over what a step made. Where batches are one step ahead their tokens are older than the learner when they
// arrive, so what the generator makes of the new weights is compared now, while it is idle.
func (r *rlRun) serveTrained(ctx context.Context, trained *train.Result) error {
	if err := r.serve(ctx); err != nil || r.cfg.Train.Mode != "one_step_ahead" {
		return err
	}
	return r.trainer.Probe(ctx, r.engines.generator, trained.Segments)
}

// serveFirst hands over what training starts from, where the generator has something else: a fresh adapter is the learner's
// alone, and a token that was sampled without it would not say so.
func (r *rlRun) serveFirst(ctx context.Context) error {
	w, err := r.engines.models.Policy.Weights(ctx)
	if err != nil {
		return err
	}
	if _, serves := r.engines.generator.Serving(); serves == w.Fingerprint {
		return nil
	}
	return r.engines.generator.Publish(ctx, w)
}

// over reports whether the run has taken its steps, or reached its goal.
func (r *rlRun) over() bool {
	return r.cfg.Train.Steps > 0 && r.saved.Step >= int64(r.cfg.Train.Steps) ||
		r.cfg.Train.StopScore > 0 && r.saved.Best != nil && r.saved.Best.Score >= r.cfg.Train.StopScore
}

// evaluates reports whether the held-out prompts are tried after the step.
func (r *rlRun) evaluates(step int64) bool {
	if len(r.heldOut) == 0 {
		return false
	}
	every := int64(r.cfg.Eval.Steps)
	return every > 0 && step%every == 0 || r.cfg.Train.Steps > 0 && step == int64(r.cfg.Train.Steps)
}

// close ends everything that was opened, last first.
func (r *rlRun) close() error {
	var errs []error
	for i := len(r.closers) - 1; i >= 0; i-- {
		errs = append(errs, r.closers[i]())
	}
	return errors.Join(errs...)
}

// opened registers what close must end.
func (r *rlRun) opened(end func() error) { r.closers = append(r.closers, end) }
