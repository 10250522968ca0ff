// The critic's part of a checkpoint: a folder of the same name beside the policy's. It is written first, so that the
// policy's, which also says where the run was, commits both; a checkpoint of which either is damaged is not one.

package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"molt/engine/local"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/problem"
	"molt/weights"
)

const criticsDir = "critics"

// saveCritic writes the critic's part, before the policy's of that name exists.
func (r *rlRun) saveCritic(ctx context.Context, name string) error {
	if r.engines.models.Critic == nil {
		return nil
	}
	dir := r.folder.File(criticsDir, name)
	if saved, err := weights.OpenCheckpoint(r.folder.File(folder.CheckpointsDir, name)); err == nil {
		saved.Close()
		return fmt.Errorf("run: save %s: a whole checkpoint of this name exists", dir)
	}
	if err := os.RemoveAll(dir); err != nil { // of a leg that was killed before it wrote the policy's
		return &problem.Problem{Code: problem.Resource, Where: dir, What: "cannot replace", Why: problem.Reason(err), Fix: "check the folder's permissions", Err: err}
	}
	return leg.SaveCheckpoint(ctx, r.engines.models.Critic, dir, nil)
}

// loadCritic reads the critic's part of a checkpoint.
func (r *rlRun) loadCritic(ctx context.Context, name string) error {
	if r.engines.models.Critic == nil {
		return nil
	}
	_, err := r.engines.models.Critic.Load(ctx, r.folder.File(criticsDir, name))
	return err
}

// newestWhole finds the newest checkpoint of which no part is damaged; the path is "" when there is none yet. Newer ones
// whose critic is damaged are set aside.
func (r *rlRun) newestWhole() (path string, warnings []string, err error) {
	for {
		path, damaged, err := leg.NewestCheckpoint(r.folder)
		warnings = append(warnings, damaged...)
		switch {
		case err == nil && path == "" && len(warnings) > 0:
			return "", nil, &problem.Problem{Code: problem.RunFolder, Where: r.folder.File(folder.CheckpointsDir), What: "no checkpoint can be trusted", Why: warnings[0], Fix: "start again in another folder"}
		case err != nil || path == "" || r.engines.models.Critic == nil:
			return path, warnings, err
		}
		saved, err := weights.OpenCheckpoint(r.folder.File(criticsDir, filepath.Base(path)))
		if err == nil {
			return path, warnings, saved.Close()
		}
		if !weights.Damaged(err) {
			return "", nil, leg.NoResume(path, err)
		}
		warnings = append(warnings, fmt.Sprintf("checkpoint passed over, for its critic is damaged: %v", err))
		if err := os.Rename(path, path+".damaged"); err != nil {
			return "", nil, &problem.Problem{Code: problem.Resource, Where: path, What: "cannot set the damaged checkpoint aside", Why: problem.Reason(err), Fix: "check the folder's permissions", Err: err}
		}
	}
}

// pruneCritics deletes the critics whose policy is gone.
func (r *rlRun) pruneCritics() error {
	if r.engines.models.Critic == nil {
		return nil
	}
	entries, err := os.ReadDir(r.folder.File(criticsDir))
	if err != nil {
		return &problem.Problem{Code: problem.Resource, Where: r.folder.File(criticsDir), What: "cannot list old checkpoints", Why: problem.Reason(err), Fix: "check the folder's permissions", Err: err}
	}
	for _, e := range entries {
		if _, err := os.Stat(r.folder.File(folder.CheckpointsDir, e.Name())); err == nil {
			continue
		}
		if err := os.RemoveAll(r.folder.File(criticsDir, e.Name())); err != nil {
			return &problem.Problem{Code: problem.Resource, Where: r.folder.Path, What: "cannot delete old checkpoints", Why: problem.Reason(err), Fix: "check the folder's permissions", Err: err}
		}
	}
	return nil
}

// share is the part of the disk budget that the policies of checkpoints may take; their critics take the rest.
func (p *rlPlan) share() float64 {
	if p.others.critic == nil {
		return 1
	}
	policy := float64(p.trained())
	return policy / (policy + float64(p.others.critic.shape.ParamCount()))
}

// trained counts the numbers that the policy's learner trains, and with them the bytes of a checkpoint.
func (p *rlPlan) trained() int64 {
	m, _ := local.Plan(p.learned(), p.engine) // which preflight has checked
	return m.Trained
}
