// Tasks on disk: a file for each, its order first, then what became of its rollouts. A server that starts on the folder has
// the finished ones again. What was being played when a server ended cannot go on: it has ended with it, and is not played
// again by itself, because programs may have done half of what they do.

package service

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"molt/internal/chained"
	"molt/traj"
)

// shelf is the folder; "" keeps tasks in memory only.
type shelf string

// shelved is one change of a task. One field is set, besides At.
type shelved struct {
	At        int64         `json:"at"` // seconds since 1970
	Order     *ordered      `json:"order,omitzero"`
	Result    *traj.Rollout `json:"result,omitzero"`
	Cancelled bool          `json:"cancelled,omitzero"`
}

// ordered is a task as it was submitted.
type ordered struct {
	ID     string         `json:"id"`
	Number int64          `json:"number"`
	Born   int64          `json:"born"`
	Body   jsontext.Value `json:"body"`
}

const taskExtension = ".task"

// begin makes the file of a task; nil without a folder.
func (s shelf) begin(t *task) (*chained.File, error) {
	if s == "" {
		return nil, nil
	}
	file, err := chained.Create(filepath.Join(string(s), t.id+taskExtension))
	if err != nil {
		return nil, fmt.Errorf("service: keeping a task: %w", err)
	}
	file.Write(shelved{At: t.born.Unix(), Order: &ordered{t.id, t.number, t.born.Unix(), t.order.body}}, true)
	if err := file.Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("service: keeping a task: %w", err), file.Remove())
	}
	return file, nil
}

// restored is a task as it is found on the shelf.
type restored struct {
	*task
	cancelled bool
	ended     int64 // when its last rollout did, in seconds since 1970
}

// errEnded is what became of rollouts that were not finished when their server ended.
var errEnded = errors.New("the server ended before the rollout did; submit it again")

// open makes the folder and reads its tasks, in the order in which they came. One that cannot be read is set aside. notes say
// what was met.
func (s shelf) open(m most, now time.Time) (tasks []restored, notes []string, err error) {
	if s == "" {
		return nil, nil, nil
	}
	if err := os.MkdirAll(string(s), 0o700); err != nil {
		return nil, nil, fmt.Errorf("service: making the folder of tasks: %w", err)
	}
	entries, err := os.ReadDir(string(s))
	if err != nil {
		return nil, nil, fmt.Errorf("service: reading the folder of tasks: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(string(s), entry.Name())
		if !strings.HasSuffix(path, taskExtension) || !entry.Type().IsRegular() {
			continue
		}
		t, err := s.read(path, m)
		switch {
		case errors.Is(err, chained.ErrDamaged):
			to, failed := chained.SetAside(path)
			notes = append(notes, fmt.Sprintf("%s: %v; the task is not restored, and its file is kept as %s", path, errors.Join(err, failed), to))
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s: the task is not restored: %v", path, err))
		default:
			if n := t.finish(now); n > 0 {
				notes = append(notes, fmt.Sprintf("task %s: %d of %d rollouts had not finished when the server ended, and are not played again", t.id, n, t.order.N))
			}
			tasks = append(tasks, t)
		}
	}
	slices.SortFunc(tasks, func(a, b restored) int { return cmp.Compare(a.number, b.number) })
	return tasks, notes, nil
}

// read restores a task.
func (s shelf) read(path string, m most) (restored, error) {
	var r restored
	file, _, err := chained.Open(path, func(record []byte) error {
		var change shelved
		if err := json.Unmarshal(record, &change, json.RejectUnknownMembers(true)); err != nil {
			return err
		}
		r.ended = change.At
		return r.redo(&change, m)
	})
	if err == nil && r.id+taskExtension != filepath.Base(path) {
		err = fmt.Errorf("%w: it is the file of task %.40q", chained.ErrDamaged, r.id)
	}
	if err == nil {
		r.file = file
	}
	return r, err
}

// redo makes a recorded change again.
func (r *restored) redo(c *shelved, m most) error {
	switch {
	case (r.task == nil) != (c.Order != nil):
		return errors.New("it does not begin with one order")
	case c.Order != nil:
		o, err := readOrder(c.Order.Body, most{n: max(m.n, 1<<20), tokens: 1 << 31, seconds: 1 << 31}) // what was admitted stays
		if err != nil {
			return err
		}
		r.task = newTask(c.Order.ID, o)
		r.number, r.born = c.Order.Number, time.Unix(c.Order.Born, 0)
	case c.Cancelled:
		r.cancelled = true
	case c.Result != nil:
		if c.Result.Sample < 0 || c.Result.Sample >= r.order.N || r.results[c.Result.Sample] != nil {
			return fmt.Errorf("rollout %d does not fit", c.Result.Sample)
		}
		if err := c.Result.Validate(math.MaxInt32, math.MaxInt64); err != nil {
			return err
		}
		r.results[c.Result.Sample] = c.Result
		if c.Result.Detail == errEnded.Error() {
			r.cut++
		}
	}
	return nil
}

// finish ends what was not finished, and returns how many rollouts that are.
func (r *restored) finish(now time.Time) (n int) {
	for i, result := range r.results {
		if result != nil {
			continue
		}
		n++
		r.results[i] = &traj.Rollout{Group: r.order.group(r.task), Sample: i, Outcome: traj.Infrastructure, Detail: errEnded.Error()}
		if r.cancelled {
			r.results[i].Outcome, r.results[i].Detail = traj.Cancelled, errCancelled.Error()
		} else {
			r.cut++
		}
		r.ended = now.Unix()
		r.file.Write(shelved{At: r.ended, Result: r.results[i]}, false)
	}
	if n > 0 {
		r.file.Sync()
	}
	return n
}
