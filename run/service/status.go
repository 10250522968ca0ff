// What clients are told about tasks.

package service

import (
	"context"
	"encoding/json/jsontext"
	"slices"
	"time"

	"molt/chat"
	"molt/run/service/queue"
	"molt/traj"
)

// state is a task without its results.
type state struct {
	ID       string         `json:"id"`
	Order    string         `json:"order_id,omitzero"` // the client's own name
	State    string         `json:"state"`             // queued, running, cancelling, done, cancelled, interrupted
	N        int            `json:"n"`
	Finished int            `json:"finished"`
	Stages   stageCounts    `json:"stages"`
	Cut      int            `json:"interrupted,omitzero"` // rollouts that ended with an earlier server
	Unsaved  string         `json:"unsaved,omitzero"`     // why results that came since are not on disk
	Created  string         `json:"created_at"`
	Expires  string         `json:"expires_at,omitzero"` // when it is forgotten
	Meta     jsontext.Value `json:"metadata,omitzero"`
}

// stageCounts are rollouts.
type stageCounts struct {
	Waiting int `json:"waiting"`
	SetUp   int `json:"set_up"`
	Run     int `json:"run"`
	Grade   int `json:"grade"`
	Done    int `json:"done"`
}

// ended is a rollout that ended, on a stream.
type ended struct {
	Sample  int          `json:"sample"`
	Outcome traj.Outcome `json:"outcome"`
	Detail  string       `json:"detail,omitzero"`
	Reward  *float64     `json:"reward"`
	Score   *float64     `json:"score"`
	Turns   int          `json:"turns"`
	Tokens  int          `json:"tokens"`
}

func (r *rollouts) status(t *task) state {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state(t)
}

// state is status for those who hold mu. A task that was forgotten meanwhile is done.
func (r *rollouts) state(t *task) state {
	s := state{ID: t.id, Order: t.order.ID, State: "done", N: t.order.N, Finished: t.order.N, Created: t.born.UTC().Format(time.RFC3339)}
	s.Cut = t.cut
	if err := t.file.Err(); err != nil {
		s.Unsaved = err.Error()
	}
	if meta := t.order.Meta; meta.Kind() != chat.KindNull {
		s.Meta = jsontext.Value(meta.String())
	}
	q, known := r.queue.State(t.number)
	if !known {
		return s
	}
	s.Stages = stageCounts{q.Rollouts[queue.Waiting], q.Rollouts[queue.SetUp], q.Rollouts[queue.Run], q.Rollouts[queue.Grade], q.Rollouts[queue.Done]}
	s.Finished = s.N - q.Open
	switch {
	case q.Open == 0 && q.Cancelled:
		s.State = "cancelled"
	case q.Open == 0 && s.Cut > 0:
		s.State = "interrupted"
	case q.Open == 0:
	case q.Cancelled:
		s.State = "cancelling"
	case s.Stages.Waiting == s.N:
		s.State = "queued"
	default:
		s.State = "running"
	}
	if q.Open == 0 {
		s.Expires = time.Unix(q.Expires, 0).UTC().Format(time.RFC3339)
	}
	return s
}

// overview is everything at a glance.
type overview struct {
	Pools    map[string]queue.Pool `json:"pools"`
	Bytes    int64                 `json:"bytes"` // reserved by unfinished tasks, used by finished ones
	Rollouts []state               `json:"tasks"`
}

func (r *rollouts) overview() overview {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.follow(r.queue.Tick(time.Now().Unix()))
	pools := r.queue.Pools()
	o := overview{Pools: map[string]queue.Pool{"set_up": pools[0], "run": pools[1], "grade": pools[2]}, Bytes: r.queue.Bytes(), Rollouts: []state{}}
	for _, number := range r.queue.Tasks() {
		o.Rollouts = append(o.Rollouts, r.state(r.byNum[number]))
	}
	return o
}

// results are the rollouts that ended, by sample; nil for others.
func (r *rollouts) results(t *task) []*traj.Rollout {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(t.results)
}

// wait returns when all rollouts of a task have ended, after a while, or with ctx.
func (r *rollouts) wait(ctx context.Context, t *task, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		r.mu.Lock()
		changed, s := t.changed, r.state(t)
		r.mu.Unlock()
		if s.Finished == s.N {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// news is what a stream says next: where the task is, and who ended since told was last marked. changed is closed at the next
// change.
func (r *rollouts) news(t *task, told []bool) (changed <-chan struct{}, s state, list []ended) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, rollout := range t.results {
		if rollout == nil || told[i] {
			continue
		}
		told[i] = true
		e := ended{Sample: i, Outcome: rollout.Outcome, Detail: rollout.Detail, Turns: rollout.Turns(), Tokens: rollout.Tokens()}
		if rollout.Outcome.Graded() {
			e.Reward, e.Score = &rollout.Reward, &rollout.Score
		}
		list = append(list, e)
	}
	return t.changed, r.state(t), list
}
