package rollout

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molt/agent"
	"molt/chat"
	"molt/traj"
)

// TestResumeIsExact: a run that is stopped in the middle of any batch and restored from the JSON of its last step sees the
// batches that an uninterrupted one sees.
func TestResumeIsExact(t *testing.T) {
	const batches = 5
	for lag := range 2 {
		synctest.Test(t, func(t *testing.T) {
			c := config()
			c.Sched.MaxLag, c.Sched.Batches = lag, batches
			c.Sched.Filter = func(g *traj.Group) string {
				if g.ID%4 == 1 {
					return "every fourth"
				}
				return ""
			}
			slow := func(e *serving) runner {
				return func(ctx context.Context, job agent.Job) *traj.Rollout {
					select {
					case <-time.After(time.Duration(7*job.Group%5+3*int64(job.Sample)) * 15 * time.Second):
						return e.completed(job)
					case <-ctx.Done():
						return failed(job, traj.Cancelled)
					}
				}
			}
			e := &serving{}
			d, err := New(c, slow(e), &numbers{n: 100}, 0)
			if err != nil {
				t.Fatal(err)
			}
			stop := running(d)
			want := train(t, d, e, batches, nil)
			if err := stop(); err != nil {
				t.Fatal(err)
			}

			e = &serving{}
			var got []string
			var saved []byte
			d, err = New(c, slow(e), &numbers{n: 100}, 0)
			for range batches {
				if err != nil {
					t.Fatal(err)
				}
				stop := running(d)
				got = append(got, train(t, d, e, 1, func() {
					time.Sleep(20 * time.Second) // into the middle of the next batch
					snap, err := d.Snapshot(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if saved, err = json.Marshal(snap); err != nil {
						t.Fatal(err)
					}
				})...)
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				var snap Snapshot
				if err := json.Unmarshal(saved, &snap); err != nil {
					t.Fatal(err)
				}
				source := &numbers{n: 100}
				if err := json.Unmarshal(snap.Cursor, &source.at); err != nil {
					t.Fatal(err)
				}
				d, err = Restore(c, slow(e), source, snap)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("lag %d (-uninterrupted +resumed)\n%s", lag, d)
			}
		})
	}
}

func TestRestoreNeedsTheTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &serving{}
		d, err := New(config(), runner(func(ctx context.Context, job agent.Job) *traj.Rollout {
			<-ctx.Done()
			return failed(job, traj.Cancelled)
		}), &numbers{n: 9}, 0)
		if err != nil {
			t.Fatal(err)
		}
		stop := running(d)
		snap, err := d.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if len(snap.Tasks) != 2 || snap.Tasks[1].Task.ID != "task1" {
			t.Fatalf("tasks %+v", snap.Tasks)
		}
		run := runner(func(_ context.Context, job agent.Job) *traj.Rollout { return e.completed(job) })
		lacking := snap
		lacking.Tasks = snap.Tasks[:1]
		if _, err := Restore(config(), run, &numbers{}, lacking); err == nil || !strings.Contains(err.Error(), "group 1 has no task") {
			t.Errorf("got %v", err)
		}
		more := snap
		more.Tasks = append(snap.Tasks, GroupTask{Group: 7})
		if _, err := Restore(config(), run, &numbers{}, more); err == nil || !strings.Contains(err.Error(), "2 groups in flight, tasks of [0 1 7]") {
			t.Errorf("got %v", err)
		}
	})
}

// TestTaskSurvivesJSON: a task in a checkpoint is the task that the rollout was given, to the last digit and the order of
// keys, because both reach the prompt.
func TestTaskSurvivesJSON(t *testing.T) {
	schema, err := chat.ParseValue([]byte(`{"z": 1.50, "a": {"type": "object", "b": [1e3, null, "<tag> & \u00e9"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Task{
		ID: "7", Source: "set", Label: `{"b": 1.0}`, Seed: 1<<64 - 1,
		Messages: []chat.Message{
			{Role: chat.User, Content: "what <b>is</b>\u2028 it?"},
			{Role: chat.Assistant, Reasoning: "think", ToolCalls: []chat.ToolCall{{ID: "c", Name: "f", Arguments: schema}}},
		},
		Tools: []chat.ToolSpec{chat.NewToolSpec("f", "does", schema)},
	}
	data, err := json.Marshal(GroupTask{3, want})
	if err != nil {
		t.Fatal(err)
	}
	var back GroupTask
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	text := func(v chat.Value) string { return v.String() }
	if d := cmp.Diff(want, back.Task, cmp.Transformer("text", text)); d != "" {
		t.Errorf("(-want +got)\n%s\n%s", d, data)
	}
}
