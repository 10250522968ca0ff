// How a run of reinforcement learning is put together, in order of start.

package run

import (
	"context"
	"encoding/json"
	"os"

	"molt/engine"
	"molt/metrics"
	"molt/rollout"
	"molt/rollout/sched"
	"molt/run/doctor"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/run/tasks"
	"molt/train"
)

func (r *rlRun) open(ctx context.Context, settings []*recipe.Setting) error {
	plan, err := preflight(ctx, r.cfg)
	if err != nil {
		return err
	}
	r.opened(plan.close)
	doctor.Warn(r.view.Lines(), plan.model)
	r.model, r.heldOut, r.recorder, r.agent = plan.model, plan.heldOut, newRecorder(), plan.agent
	r.share = plan.share()
	r.source = &tasks.Source{Stream: plan.stream}
	if r.folder, err = folder.Open(r.cfg.Ckpt.Path, "rl", settings, plan.inputs); err != nil {
		return err
	}
	r.opened(r.folder.Close)
	if err := r.openAgentLog(); err != nil {
		return err
	}
	if r.engines, err = r.start(plan); err != nil {
		return err
	}
	r.opened(r.engines.close)
	state, err := r.restore(ctx)
	if err == nil && !r.saved.Resumed {
		err = r.serveFirst(context.WithoutCancel(ctx))
	}
	if err != nil {
		return err
	}
	if err := r.openLog(plan); err != nil {
		return err
	}
	r.opened(func() error { return leg.CloseEvents(r.folder, r.log, r.keeper) })
	if !r.saved.Resumed {
		state.Train.KL = plan.algo.KL.Coef
	}
	r.trainer = train.New(r.trainConfig(plan), r.engines.models, state.Train)
	return r.openDriver(plan, state)
}

// openAgentLog keeps what agents in other processes print. It is written as they print, and is no part of the run's state.
func (r *rlRun) openAgentLog() error {
	if !r.cfg.Agent.IsPython() && !r.cfg.Agent.IsProgram() {
		return nil
	}
	at := r.folder.File("agents.log")
	file, err := os.OpenFile(at, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return &problem.Problem{Code: problem.Resource, Where: at, What: "cannot write what agents print", Why: problem.Reason(err), Fix: "make room, or choose another folder", Err: err}
	}
	r.agent.Log().Send(file)
	r.agent.Log().Tell(func(traceback string) { r.log.Emit(metrics.Note{Text: traceback}) })
	r.opened(func() error {
		r.agent.Log().Tell(nil)
		r.agent.Log().Send(nil)
		return file.Close()
	})
	return nil
}

// openLog starts the events of the run, or continues them at the checkpoint.
func (r *rlRun) openLog(plan *rlPlan) (err error) {
	sinks := r.view.Sinks()
	if r.cfg.Logger.TensorBoard {
		sinks = append(sinks, metrics.NewTensorBoard(r.folder.File(folder.TensorboardDir)))
	}
	r.log, r.keeper, err = leg.OpenEvents(r.folder, r.saved.Seq, r.saved.Step, sinks,
		metrics.Config{KeepBytes: int64(r.cfg.Logger.KeepMiB) << 20, KeepPerStep: r.cfg.Logger.KeepPerStep})
	if err != nil {
		return err
	}
	r.log.Emit(plan.started(r.folder, r.view, r.saved))
	leg.PassedOver(r.log, r.saved.Step, r.saved.Warnings)
	if a, warns := plan.defaultRate(); warns {
		r.log.Emit(a)
	}
	return nil
}

// trainConfig is what a step needs to know.
func (r *rlRun) trainConfig(plan *rlPlan) train.Config {
	c := train.Config{
		Config: plan.algo, BatchSize: r.cfg.Train.BatchSize, MaxEpochs: r.cfg.Train.MaxEpochs, MicroTokens: r.cfg.Train.MicroTokens,
		MaxNorm: r.cfg.Actor.MaxNorm, LR: leg.Schedule(r.cfg.Actor.OptimConfig, plan.updates).At, Exact: engine.Exact(r.engines.generator.Capabilities(), r.engines.models.Policy.Capabilities()),
		Critic: plan.criticConfig(),
	}
	if r.cfg.Reward.Shuffle {
		c.Shuffle = func(reward []float64) { shuffle(reward, r.cfg.Train.Seed, uint64(r.saved.Step)) }
	}
	return c
}

// openDriver wires agents to the generator through the capture gateway, and the scheduler around them.
func (r *rlRun) openDriver(plan *rlPlan, state checkpointState) error {
	if err := r.agent.Start(watched{r.engines.generator, r.folder.Path, r.fail}, r.recorder.wrap); err != nil {
		return err
	}
	runner := r.agent.Runner()
	if !r.saved.Resumed {
		var err error
		r.driver, err = rollout.New(r.driverConfig(plan), runner, r.source, 0)
		return err
	}
	var snapshot rollout.Snapshot
	err := json.Unmarshal(state.Rollout, &snapshot)
	if err == nil {
		err = r.source.Seek(snapshot.Cursor)
	}
	if err == nil {
		r.driver, err = rollout.Restore(r.driverConfig(plan), runner, r.source, snapshot)
	}
	if err != nil {
		return leg.NoResume(r.folder.File(folder.CheckpointsDir, r.saved.From), err)
	}
	return nil
}

// sampling is how tokens are chosen: every field is the run's own, whatever the model's generation_config suggests.
func sampling(cfg *recipe.Config, stops []int32, eval bool) engine.Sampling {
	s := engine.Sampling{
		Temperature: float32(cfg.Rollout.Temperature), TopP: float32(cfg.Rollout.TopP), TopK: cfg.Rollout.TopK, MinP: float32(cfg.Rollout.MinP),
		MaxTokens: cfg.Rollout.MaxNewTokens, StopTokens: stops,
	}
	if eval {
		s.Temperature = float32(cfg.Eval.Temperature)
	}
	return s
}

func (r *rlRun) driverConfig(plan *rlPlan) rollout.Config {
	c := rollout.Defaults()
	c.Vocab = r.engines.generator.Capabilities().Vocab
	c.Sched = sched.Config{
		GroupSize: r.cfg.Rollout.Samples, BatchGroups: r.cfg.Rollout.BatchSize, Batches: int64(r.cfg.Train.Steps), Capacity: plan.capacity,
		MaxLag: plan.lag, MinGraded: plan.algo.Filter.MinGraded, DropBudget: r.cfg.Algo.Budget,
		Limits: sched.Limits{
			Turns: r.cfg.Agent.MaxTurns, Tokens: r.cfg.Rollout.MaxLen, Attempts: 1 + r.cfg.Rollout.Retries,
			Time: int64(r.cfg.Agent.Timeout * 1000), Grace: 10_000, RetryDelay: 1000,
		},
	}
	if plan.algo.Filter.Dynamic {
		c.Sched.Filter = plan.filter
	}
	c.Retried = r.note
	c.Dropped = r.dropped
	return c
}
