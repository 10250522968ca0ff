// What survives kill -9: a checkpoint holds the learner (weights, moments, version) and, in the same atomic folder, where
// the run was: the trainer, the rollouts made and not yet trained on, the place in the prompts, the events.

package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"molt/metrics"
	"molt/rollout"
	"molt/train"
	"molt/weights"
)

// progress is how far a run has come.
type progress struct {
	Step     int64    `json:"step"` // batches trained on
	Seq      int64    `json:"seq"`  // the last event that belongs to it
	Best     *best    `json:"best"` // nil before the first evaluation
	Last     *best    `json:"last"` // the newest evaluation
	First    *best    `json:"first"`
	Resumed  bool     `json:"-"`
	From     string   `json:"-"` // the checkpoint that this attempt continues
	Warnings []string `json:"-"` // damaged checkpoints that were passed over
	Totals   totals   `json:"totals"`
}

// bestIs reports whether the weights after this step are the best so far.
func (p *progress) bestIs(step int64) bool { return p.Best != nil && p.Best.Step == step }

// best is an evaluation and where its weights are.
type best struct {
	Step       int64   `json:"step"`
	Score      float64 `json:"score"` // by ckpt.best_metric_key
	Checkpoint string  `json:"checkpoint"`
}

// totals count over all attempts.
type totals struct {
	Generated int64   `json:"generated_tokens"`
	Trained   int64   `json:"trained_tokens"`
	Seconds   float64 `json:"seconds"`
}

// checkpointState is what a checkpoint holds besides the learner.
type checkpointState struct {
	Progress progress         `json:"progress"`
	Train    train.State      `json:"train"`
	Rollout  rollout.Snapshot `json:"rollout"`
}

// save writes a checkpoint, then lets old ones go. The newest and the best are always kept.
func (r *rlRun) save(ctx context.Context) error {
	snapshot, err := r.driver.Snapshot(ctx)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("step-%06d", r.saved.Step)
	event := metrics.CheckpointSaved{Step: r.saved.Step, Keep: "last", Path: filepath.Join(checkpointsDir, name)}
	if b := r.saved.Best; b != nil && b.Step == r.saved.Step {
		b.Checkpoint = name
		event.Keep, event.Score = "best", &b.Score
	}
	r.saved.Seq = r.log.Emit(event)
	state, err := json.Marshal(checkpointState{Progress: r.saved, Train: r.trainer.State(), Rollout: snapshot})
	if err != nil {
		return fmt.Errorf("run: encode the checkpoint: %w", err)
	}
	dir := r.folder.File(checkpointsDir, name)
	if err := r.engines.learner.Save(ctx, dir, state); err != nil {
		return &Problem{Code: CodeResource, Where: dir, What: "cannot save the checkpoint", Why: reason(err), Fix: "make room; the same command resumes from the checkpoint before it", Err: err}
	}
	err = r.prune(name)
	r.clock.lap("save")
	return err
}

func (r *rlRun) prune(newest string) error {
	protect := []string{newest}
	if r.saved.Best != nil && r.saved.Best.Checkpoint != "" {
		protect = append(protect, r.saved.Best.Checkpoint)
	}
	keep := r.cfg.Ckpt.MaxNum + len(protect) - 1
	_, warning, err := weights.Prune(r.folder.File(checkpointsDir), keep, int64(r.cfg.Ckpt.MaxMem*1e9), protect...)
	if err != nil {
		return &Problem{Code: CodeResource, Where: r.folder.Path, What: "cannot delete old checkpoints", Why: reason(err), Fix: "check the folder's permissions", Err: err}
	}
	if warning != "" {
		r.log.Emit(metrics.Alarm{Name: "checkpoints-over-budget", Severity: metrics.Warning, Step: r.saved.Step, Sentence: warning, Fix: "raise ckpt.max_mem or ckpt.max_num"})
	}
	return nil
}

// restore loads the newest valid checkpoint into the learner and the generator, or starts afresh when there is none.
func (r *rlRun) restore(ctx context.Context) (state checkpointState, err error) {
	dir := r.folder.File(checkpointsDir)
	found, warnings, err := weights.Latest(dir)
	if errors.Is(err, weights.ErrNoCheckpoint) || errors.Is(err, os.ErrNotExist) {
		return state, nil
	}
	if err != nil {
		return state, &Problem{Code: CodeRunFolder, Where: dir, What: "no checkpoint can be trusted", Why: err.Error(), Fix: "start again in another folder", Err: err}
	}
	path := found.Path
	if err := found.Close(); err != nil {
		return state, err
	}
	raw, err := r.engines.learner.Load(ctx, path)
	if err == nil {
		err = json.Unmarshal(raw, &state)
	}
	if err == nil {
		err = r.serve(ctx)
	}
	if err != nil {
		return state, &Problem{Code: CodeRunFolder, Where: path, What: "cannot resume from the checkpoint", Why: err.Error(), Fix: "start again in another folder", Err: err}
	}
	r.saved = state.Progress
	r.saved.Resumed, r.saved.From, r.saved.Warnings = true, filepath.Base(path), warnings
	return state, nil
}
