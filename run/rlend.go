// How a run of reinforcement learning ends: the best weights as a Hugging Face folder, the report, and what to say.

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"molt/engine"
	"molt/internal/spell"
	"molt/metrics"
	"molt/rollout"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/problem"
	"molt/weights"
)

// RLResult is what a finished run has to say.
type RLResult struct {
	Run        string      `json:"run"`
	Steps      int64       `json:"steps"`
	Evaluated  bool        `json:"evaluated"`
	First      *float64    `json:"first"` // held-out score before training; null where it was not measured
	Best       float64     `json:"best"`  // best held-out score
	BestStep   int64       `json:"best_step"`
	Last       float64     `json:"last"` // held-out score of the last evaluation
	Seconds    float64     `json:"seconds"`
	Generated  int64       `json:"tokens_generated"`
	Trained    int64       `json:"tokens_trained"`
	Checkpoint string      `json:"checkpoint"`     // Hugging Face folder of the best weights, or PEFT folder of the best adapter
	Base       string      `json:"base,omitempty"` // the model that the adapter is for
	Report     string      `json:"report"`
	Alarms     leg.Repeats `json:"alarms,omitempty"` // steps in which each was raised
}

// String is the result as a few lines.
func (r *RLResult) String() string {
	s := fmt.Sprintf("trained %d steps in %s\n", r.Steps, time.Duration(r.Seconds*float64(time.Second)).Round(100*time.Millisecond))
	if r.Evaluated {
		before := "not measured"
		if r.First != nil {
			before = fmt.Sprintf("%.1f %%", 100**r.First)
		}
		s += fmt.Sprintf("held-out score  %s before, %.1f %% at step %d (best), %.1f %% at the end\n", before, 100*r.Best, r.BestStep, 100*r.Last)
	} else {
		s += fmt.Sprintf("held-out score  not measured: %s holds the last weights, as %s does\n", folder.BestDir, folder.LastDir)
	}
	if r.Base != "" {
		s += fmt.Sprintf("base            %s\n", spell.Quoted(r.Base))
	}
	s += r.Alarms.Line("alarms          %s\n")
	return s + fmt.Sprintf("%-15s %s\nreport          %s\n", leg.Holds(r.Base), spell.Quoted(r.Checkpoint), spell.Quoted(r.Report))
}

// end writes what a run leaves behind. err is why the loop ended, nil when it came to its end.
func (r *rlRun) end(ctx context.Context, err error) (*RLResult, error) {
	stopped := leg.Interrupted(ctx, err)
	ctx = context.WithoutCancel(ctx)
	switch {
	case err == nil:
		err = r.finish(ctx)
	case stopped:
		err = r.giveWay(ctx, err)
	default:
		err = r.blame(err)
	}
	if gone := leg.Abandon(r.folder, err); gone != nil {
		return nil, gone
	}
	if err = errors.Join(err, leg.Conclude(r.folder, r.log, leg.Ending(err, r.view, r.started, r.saved.Step))); err != nil {
		return nil, err
	}
	result := r.result()
	return result, r.folder.Finish(result)
}

// giveWay saves what an interrupted run has done.
func (r *rlRun) giveWay(ctx context.Context, err error) error {
	err = leg.StoppedAfter(r.folder, r.saved.Step, r.view, err)
	if r.boundary != nil && r.unsaved {
		return errors.Join(r.save(ctx), err)
	}
	return err
}

// blame gives the exit code's class to an error of the loop: a broken promise is an alarm.
func (r *rlRun) blame(err error) error {
	var p *problem.Problem
	if errors.As(err, &p) || errors.Is(err, engine.ErrUnavailable) || errors.Is(err, rollout.ErrStopped) {
		return err
	}
	return &problem.Problem{Code: problem.Alarm, Where: r.folder.Path, What: err.Error(), Fix: "nothing was trained on it; look at the run with `molt show " + spell.Quoted(r.folder.Path) + "`", Err: err}
}

// finish exports the last weights and the best ones, which are the last ones when nothing was evaluated.
func (r *rlRun) finish(ctx context.Context) error {
	if err := r.export(ctx, folder.LastDir); err != nil {
		return err
	}
	if b := r.saved.Best; b != nil && b.Step != r.saved.Step {
		if err := r.loadBest(ctx); err != nil {
			return err
		}
	}
	return r.export(ctx, folder.BestDir)
}

// loadBest brings the best weights back, or, where their checkpoint is damaged, the best of those that can be read. The run's
// last weights are in the learner as long as nothing was loaded.
func (r *rlRun) loadBest(ctx context.Context) error {
	ranked := slices.Clone(r.saved.Scored)
	slices.SortStableFunc(ranked, func(a, b best) int { return cmp.Compare(b.Score, a.Score) })
	var lost error
	for _, b := range ranked {
		path := r.folder.File(folder.CheckpointsDir, leg.CheckpointName(b.Step))
		if _, err := os.Stat(path); b.Step != r.saved.Step {
			if errors.Is(err, fs.ErrNotExist) && b.Step != r.saved.Best.Step {
				continue // it was let go
			}
			if _, err := r.engines.models.Policy.Load(ctx, path); err != nil {
				if !weights.Damaged(err) {
					return leg.NoResume(path, err)
				}
				lost = cmp.Or(lost, err)
				continue
			}
		}
		if lost != nil {
			r.lostBest(lost, b)
		}
		return nil
	}
	r.lostBest(lost, best{Step: r.saved.Step})
	return nil
}

// lostBest says that b takes the place of the best weights.
func (r *rlRun) lostBest(why error, b best) {
	r.log.Emit(metrics.Alarm{
		Name: "best-checkpoint-damaged", Severity: metrics.Warning, Step: r.saved.Step,
		Sentence: fmt.Sprintf("the best weights, of step %d, cannot be read, and %s holds those of step %d: %v", r.saved.Best.Step, folder.BestDir, b.Step, why),
		Fix:      "look after the disk",
	})
	r.saved.Best = &b
}

// export writes the learner's weights to a folder of the run.
func (r *rlRun) export(ctx context.Context, name string) error {
	return leg.ExportTo(ctx, r.folder.File(name), r.model, r.engines.models.Policy, r.cfg.Actor.LoRA, leg.Form(r.cfg.Ckpt.DType, r.cfg.Ckpt.MaxShard))
}

func (r *rlRun) result() *RLResult {
	s := &r.saved
	out := &RLResult{
		Run: r.folder.Path, Alarms: s.Raised, Steps: s.Step, Seconds: s.Totals.Seconds, Generated: s.Totals.Generated, Trained: s.Totals.Trained,
		Checkpoint: r.folder.File(folder.BestDir), Report: r.folder.File(folder.ReportFile), Base: leg.BaseOf(r.model, r.cfg.Actor.LoRA),
	}
	if s.Best != nil {
		out.Evaluated = true
		out.Best, out.BestStep, out.Last = s.Best.Score, s.Best.Step, s.Last.Score
		if s.First.Step == 0 {
			out.First = &s.First.Score
		}
	}
	return out
}
