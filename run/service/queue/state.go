package queue

import (
	"maps"
	"slices"
)

// State is where the rollouts of a task are.
type State struct {
	Rollouts  [Done + 1]int // by stage
	Open      int           // have not ended
	Cancelled bool
	Expires   int64 // when the task is forgotten; 0 while one is open
}

// State finds a task.
func (q *Queue) State(id int64) (State, bool) {
	t := q.tasks[id]
	if t == nil {
		return State{}, false
	}
	s := State{Open: t.open, Cancelled: t.cancelled, Expires: t.expires}
	for _, stage := range t.stages {
		s.Rollouts[stage]++
	}
	return s, true
}

// Tasks lists those that are known, in the order in which they came.
func (q *Queue) Tasks() []int64 { return slices.Sorted(maps.Keys(q.tasks)) }

// Pool is one stage's places.
type Pool struct {
	Places  int `json:"places"`
	Busy    int `json:"busy"`
	Waiting int `json:"waiting"`
}

// Pools are those of SetUp, Run and Grade. Those who wait for a place in the first have not begun.
func (q *Queue) Pools() [pools]Pool {
	var list [pools]Pool
	for i := range list {
		list[i] = Pool{q.config.Places[i], q.busy[i], len(q.wants[i])}
	}
	return list
}

// Bytes are those that are reserved or in use.
func (q *Queue) Bytes() int64 { return q.bytes }
