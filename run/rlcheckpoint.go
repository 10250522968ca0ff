// What survives kill -9: a checkpoint holds the learner (weights, moments, version) and, in the same atomic folder, where
// the run was: the trainer, the rollouts made and not yet trained on, the place in the prompts, the events.

package run

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"molt/metrics"
	"molt/rollout/sched"
	"molt/run/folder"
	"molt/run/leg"
	"molt/train"
	"molt/traj"
)

// progress is how far a run has come.
type progress struct {
	Step     int64    `json:"step"` // batches trained on
	Seq      int64    `json:"seq"`  // the last event that belongs to it
	Best     *best    `json:"best"` // nil before the first evaluation
	Last     *best    `json:"last"` // the newest evaluation
	First    *best    `json:"first"`
	Scored   []best   `json:"scored"` // every evaluation
	Resumed  bool     `json:"-"`
	From     string   `json:"-"` // the checkpoint that this leg continues
	Warnings []string `json:"-"` // damaged checkpoints that were passed over
	Totals   totals   `json:"totals"`

	Raised  leg.Repeats      `json:"raised,omitempty"`
	Dropped map[string]int64 `json:"dropped"` // rollouts that do not train, by reason, as far as they were told about
}

// dropped are the rollouts that were newly counted as dropped, by reason, without those of the batch. One step ahead they
// are also those of the next batch, as far as that has come.
func (p *progress) dropped(counted map[string]int64, batch sched.Batch) map[string]int {
	lost := map[string]int{}
	for why, n := range counted {
		lost[why] = int(n - p.Dropped[why])
	}
	for why, n := range failures(batch) {
		lost[why] -= n
	}
	p.Dropped = counted
	maps.DeleteFunc(lost, func(_ string, n int) bool { return n == 0 })
	return lost
}

// bestIs reports whether the weights after this step are the best so far.
func (p *progress) bestIs(step int64) bool { return p.Best != nil && p.Best.Step == step }

// best is an evaluation and where its weights are.
type best struct {
	Step       int64   `json:"step"`
	Score      float64 `json:"score"` // by ckpt.best_metric_key
	Checkpoint string  `json:"checkpoint"`
}

// totals count over all legs.
type totals struct {
	Generated int64   `json:"generated_tokens"`
	Trained   int64   `json:"trained_tokens"`
	Seconds   float64 `json:"seconds"`
}

// checkpointState is what a checkpoint holds besides the learner.
type checkpointState struct {
	Progress progress        `json:"progress"`
	Train    train.State     `json:"train"`
	Rollout  json.RawMessage `json:"rollout"` // rollout.Snapshot
}

// arrive notes that the run stands at a boundary between two steps.
func (r *rlRun) arrive(ctx context.Context) error {
	snapshot, err := r.driver.Snapshot(ctx)
	if err != nil {
		return err
	}
	r.unsaved = true
	r.boundary, err = json.Marshal(snapshot) // now: the driver goes on to change what it shares
	return err
}

// save writes the boundary as a checkpoint, then lets old ones go. The newest and the best are always kept.
func (r *rlRun) save(ctx context.Context) error {
	if err := r.folder.Mine(); err != nil {
		return err
	}
	name := leg.CheckpointName(r.saved.Step)
	event := metrics.CheckpointSaved{Step: r.saved.Step, Keep: "last", Path: filepath.Join(folder.CheckpointsDir, name)}
	if b := r.saved.Best; b != nil && b.Step == r.saved.Step {
		b.Checkpoint = name
		event.Keep, event.Score = "best", &b.Score
	}
	r.saved.Seq = r.log.Emit(event)
	state, err := json.Marshal(checkpointState{Progress: r.saved, Train: r.trainer.State(), Rollout: r.boundary})
	if err != nil {
		return fmt.Errorf("run: encode the checkpoint: %w", err)
	}
	if err := r.saveCritic(ctx, name); err != nil {
		return err
	}
	if err := leg.SaveCheckpoint(ctx, r.engines.models.Policy, r.folder.File(folder.CheckpointsDir, name), state); err != nil {
		return err
	}
	r.unsaved = false
	protect := []string{name}
	if b := r.saved.Best; b != nil && b.Checkpoint != "" && b.Checkpoint != name {
		protect = append(protect, b.Checkpoint)
	}
	err = leg.Prune(r.folder, r.log, r.saved.Step, leg.Pruning{Keep: r.cfg.Ckpt.MaxNum + len(protect) - 1, Gigabytes: r.cfg.Ckpt.MaxMem * r.share, Protect: protect})
	if err == nil {
		err = r.pruneCritics()
	}
	r.clock.Lap("save")
	return err
}

// restore loads the newest valid checkpoint into the learner and the generator, or starts afresh when there is none.
func (r *rlRun) restore(ctx context.Context) (state checkpointState, err error) {
	path, warnings, err := r.newestWhole()
	if path == "" {
		return state, err
	}
	ctx = context.WithoutCancel(ctx) // an interrupted run finds out at its first step
	raw, err := r.engines.models.Policy.Load(ctx, path)
	if err == nil {
		err = json.Unmarshal(raw, &state)
	}
	if err == nil {
		err = r.loadCritic(ctx, filepath.Base(path))
	}
	if err == nil {
		err = r.serve(ctx)
	}
	if err == nil {
		serves, _ := r.engines.generator.Serving()
		err = state.vouch(filepath.Base(path), serves)
	}
	if err != nil {
		return state, leg.NoResume(path, err)
	}
	r.saved = state.Progress
	r.saved.Resumed, r.saved.From, r.saved.Warnings = true, filepath.Base(path), warnings
	return state, nil
}

// vouch refuses a state whose parts do not belong together: prompts would be trained on twice, or never. name is the
// checkpoint's, serves the version of its weights.
func (s *checkpointState) vouch(name string, serves traj.Version) error {
	var at struct {
		Sched struct {
			Taken   int64
			Serving traj.Version
		}
	}
	if err := json.Unmarshal(s.Rollout, &at); err != nil {
		return fmt.Errorf("run: where the rollouts stand: %w", err)
	}
	p := &s.Progress
	if err := leg.Vouch(name, p.Step, p.Seq); err != nil {
		return err
	}
	switch {
	case at.Sched.Taken != p.Step || s.Train.Batches != p.Step:
		return fmt.Errorf("run: after step %d, %d batches were taken and %d trained on; all three should be equal", p.Step, at.Sched.Taken, s.Train.Batches)
	case at.Sched.Serving != serves || s.Train.Version != serves:
		return fmt.Errorf("run: it holds version %d of the weights, sampled from version %d and trained version %d", serves, at.Sched.Serving, s.Train.Version)
	case s.Train.Steps < 0:
		return fmt.Errorf("run: %d optimizer steps", s.Train.Steps)
	}
	return p.vouchBest()
}

// vouchBest refuses best weights that were never scored, or lie elsewhere.
func (p *progress) vouchBest() error {
	for _, b := range []*best{p.Best, p.Last, p.First} {
		switch {
		case b == nil:
		case !slices.ContainsFunc(p.Scored, func(s best) bool { return s.Step == b.Step && s.Score == b.Score }):
			return fmt.Errorf("run: the evaluation after step %d is not among those that were made", b.Step)
		case b.Step > p.Step || b.Checkpoint != "" && b.Checkpoint != leg.CheckpointName(b.Step):
			return fmt.Errorf("run: after step %d, the weights of step %d are said to lie in %q", p.Step, b.Step, b.Checkpoint)
		}
	}
	return nil
}
