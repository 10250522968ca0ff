package rollout

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"testing"

	"molt/agent"
	"molt/chat"
	"molt/traj"
)

// question is a Source of one task.
type question struct{ given bool }

func (q *question) Next() (agent.Task, error) {
	if q.given {
		return agent.Task{}, io.EOF
	}
	q.given = true
	return agent.Task{ID: "q", Source: "s", Messages: []chat.Message{{Role: chat.User, Content: "asked"}}}, nil
}

func (q *question) Cursor() (json.RawMessage, error) { return json.RawMessage("1"), nil }

// TestTasksAreNotShared: an agent that edits its task changes nothing for the other rollouts of the group, for a later
// attempt, or for held-out tasks that are tried again.
func TestTasksAreNotShared(t *testing.T) {
	e := &serving{}
	var mu sync.Mutex
	seen := map[string]int{}
	edits := runner(func(_ context.Context, job agent.Job) *traj.Rollout {
		mu.Lock()
		seen[job.Task.Messages[0].Content]++
		mu.Unlock()
		job.Task.Messages[0].Content += " and spoiled"
		return e.completed(job)
	})
	c := config()
	c.Sched.GroupSize, c.Sched.BatchGroups, c.Sched.Capacity = 4, 1, 1
	d, err := New(c, edits, &question{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	stop := running(d)
	if _, err := d.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	heldOut := []agent.Task{{ID: "h", Source: "s", Messages: []chat.Message{{Role: chat.User, Content: "asked"}}}}
	for range 2 {
		if _, err := d.Evaluate(t.Context(), heldOut, 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 || seen["asked"] != 8 {
		t.Errorf("the rollouts saw %v; want 8 times what was asked", seen)
	}
}
