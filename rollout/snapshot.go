// What a checkpoint must hold so that the run goes on exactly.

package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"molt/agent"
	"molt/rollout/sched"
)

// Snapshot is the driver at a step boundary, as plain data that survives JSON.
type Snapshot struct {
	Sched  sched.Snapshot
	Tasks  []GroupTask     // of the groups that Sched.Open names, in order of Group
	Cursor json.RawMessage // of the Source
}

// GroupTask is the task of a group in flight.
type GroupTask struct {
	Group int64
	Task  agent.Task
}

// Snapshot describes the run. Call it between Publish and Next, and keep it with the weights that were published. It
// shares rollouts with the driver; nobody may change them.
func (d *Driver) Snapshot(ctx context.Context) (Snapshot, error) {
	return ask(ctx, d, func(reply chan answer[Snapshot]) error {
		snap, err := d.snapshot()
		reply <- answer[Snapshot]{snap, err}
		return nil
	})
}

func (d *Driver) snapshot() (Snapshot, error) {
	s, err := d.sched.Snapshot()
	if err != nil {
		return Snapshot{}, fmt.Errorf("rollout: %w", err)
	}
	snap := Snapshot{Sched: s}
	for _, open := range s.Open {
		snap.Tasks = append(snap.Tasks, GroupTask{open.Group.ID, d.tasks[open.Group.ID]})
	}
	if snap.Cursor, err = d.source.Cursor(); err != nil {
		return Snapshot{}, fmt.Errorf("rollout: where the prompts are: %w", err)
	}
	return snap, nil
}

// Restore makes the driver that a snapshot describes. c is the configuration of the run; source stands at snap.Cursor; the
// engine serves snap.Sched.Serving.
func Restore(c Config, runner agent.Runner, source Source, snap Snapshot) (*Driver, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s, err := sched.Restore(c.Sched, snap.Sched)
	if err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	d := newDriver(c, runner, source, s)
	for _, t := range snap.Tasks {
		d.tasks[t.Group] = t.Task
	}
	for _, open := range snap.Sched.Open {
		if _, ok := d.tasks[open.Group.ID]; !ok {
			return nil, fmt.Errorf("rollout: restore: group %d has no task", open.Group.ID)
		}
	}
	if len(d.tasks) != len(snap.Sched.Open) {
		return nil, fmt.Errorf("rollout: restore: %d groups in flight, tasks of %d", len(snap.Sched.Open), slices.Sorted(maps.Keys(d.tasks)))
	}
	return d, nil
}
