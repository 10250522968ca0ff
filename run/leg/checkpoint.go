// What every run does with its checkpoints: write one, let old ones go, find the newest that can be trusted.

package leg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molt/engine"
	"molt/metrics"
	"molt/run/folder"
	"molt/run/problem"
	"molt/weights"
)

func SaveCheckpoint(ctx context.Context, l engine.Learner, dir string, state []byte) error {
	if err := l.Save(ctx, dir, state); err != nil {
		return &problem.Problem{Code: problem.Resource, Where: dir, What: "cannot save the checkpoint", Why: problem.Reason(err), Fix: "make room; the same command resumes from the checkpoint before it", Err: err}
	}
	return nil
}

// Pruning says which checkpoints stay.
type Pruning struct {
	Keep      int
	Gigabytes float64 // 0 is no limit
	Protect   []string
}

// Prune lets old checkpoints go. The newest valid one always stays.
func Prune(f *folder.Folder, log *metrics.Log, step int64, p Pruning) error {
	_, warning, err := weights.Prune(f.File(folder.CheckpointsDir), p.Keep, int64(p.Gigabytes*1e9), p.Protect...)
	if err != nil {
		return &problem.Problem{Code: problem.Resource, Where: f.File(folder.CheckpointsDir), What: "cannot delete old checkpoints", Why: problem.Reason(err), Fix: "check the folder's permissions", Err: err}
	}
	if warning != "" {
		log.Emit(metrics.Alarm{Name: "checkpoints-over-budget", Severity: metrics.Warning, Step: step, Sentence: warning, Fix: "raise ckpt.max_mem or ckpt.max_num"})
	}
	return nil
}

// NewestCheckpoint finds the newest valid checkpoint; the path is "" when there is none yet. warnings name newer ones that
// are damaged.
func NewestCheckpoint(f *folder.Folder) (path string, warnings []string, err error) {
	dir := f.File(folder.CheckpointsDir)
	found, warnings, err := weights.Latest(dir)
	switch {
	case errors.Is(err, weights.ErrNoCheckpoint), errors.Is(err, fs.ErrNotExist):
		return "", nil, nil
	case err != nil:
		return "", nil, &problem.Problem{Code: problem.RunFolder, Where: dir, What: "no checkpoint can be trusted", Why: err.Error(), Fix: "start again in another folder", Err: err}
	}
	if err := found.Close(); err != nil {
		return "", nil, NoResume(found.Path, err)
	}
	return found.Path, append(warnings, unreadable(found.Path, warnings)...), nil
}

// unreadable warns of checkpoints that come after path by name, but whose manifest does not say so any more: among
// checkpoints they count as the oldest.
func unreadable(path string, known []string) (warnings []string) {
	parent := filepath.Dir(path)
	entries, err := os.ReadDir(parent)
	if err != nil {
		return []string{fmt.Sprintf("checkpoints cannot be listed: %v", err)}
	}
	for _, e := range entries {
		dir := filepath.Join(parent, e.Name())
		if !strings.HasPrefix(e.Name(), "step-") || filepath.Ext(dir) != "" || dir <= path || slices.ContainsFunc(known, func(w string) bool { return strings.Contains(w, dir+":") }) {
			continue
		}
		if saved, err := weights.OpenCheckpoint(dir); err != nil {
			warnings = append(warnings, fmt.Sprintf("checkpoint passed over: %v", err))
		} else {
			saved.Close()
		}
	}
	return warnings
}

func NoResume(path string, err error) error {
	return &problem.Problem{Code: problem.RunFolder, Where: path, What: "cannot resume from the checkpoint", Why: err.Error(), Fix: "start again in another folder", Err: err}
}

// mostEvents is more than any run writes.
const mostEvents = 1 << 48

// Vouch refuses a checkpoint of another step than its name says, or with a number of events that no run has.
func Vouch(name string, step, seq int64) error {
	if step < 0 || name != CheckpointName(step) {
		return fmt.Errorf("%s says that it was written after step %d", name, step)
	}
	if seq < 1 || seq > mostEvents {
		return fmt.Errorf("%s says that it was written after %d events", name, seq)
	}
	return nil
}

// PassedOver raises an alarm for each damaged checkpoint.
func PassedOver(log *metrics.Log, step int64, warnings []string) {
	for _, w := range warnings {
		log.Emit(metrics.Alarm{Name: "damaged-checkpoint", Severity: metrics.Warning, Step: step, Sentence: w, Fix: "look after the disk; training continues from the checkpoint before it"})
	}
}

// CheckpointName is the folder of the checkpoint after a step.
func CheckpointName(step int64) string { return fmt.Sprintf("step-%06d", step) }
