package service

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"molt/agent"
)

// stuck plays one rollout of a task to its end, and holds the others.
type stuck struct {
	parrot
	held bool
}

func init() {
	agent.Register("stuck", "for tests", struct{}{}, func(struct{}) (func() agent.Env, error) {
		return func() agent.Env { return &stuck{} }, nil
	})
}

func (s *stuck) Reset(ctx context.Context, t agent.Task) (agent.Start, error) {
	s.held = t.Label != "" && t.Label != "free"
	return s.parrot.Reset(ctx, t)
}

func (s *stuck) Step(ctx context.Context, a agent.Action) (agent.Result, error) {
	if s.held {
		<-ctx.Done()
		return agent.Result{}, context.Cause(ctx)
	}
	return s.parrot.Step(ctx, a)
}

// TestServeChild is the server that the test below kills.
func TestServeChild(t *testing.T) {
	folder := os.Getenv("MOLT_TEST_SHELF")
	if folder == "" {
		t.Skip("SKIPPED: it is a part of TestKill")
	}
	l := newLab(t, twice, func(c *Config) { c.Folder, c.Rollouts.Places[1] = folder, 2 })
	fmt.Println("URL", l.url)
	select {}
}

// TestKill: a server is killed. The next one on its folder has the finished rollouts, to the bit, says which were cut off, and
// draws no random numbers twice.
func TestKill(t *testing.T) {
	folder := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run", "^TestServeChild$")
	child.Env = append(os.Environ(), "MOLT_TEST_SHELF="+folder)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill() }()
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "URL ") {
	}
	l := &lab{t: t, url: strings.TrimPrefix(lines.Text(), "URL ")}
	done := l.submit(`{"id": "mine",
		"prompt": "p", "n": 2, "metadata": {"k": 1}}`)
	before := l.wait(done)
	cut := l.submit(`{"prompt": "p", "n": 3, "agent": "stuck", "label": "held"}`)
	cancelled := l.submit(`{"prompt": "p", "n": 4, "agent": "stuck", "label": "held"}`)
	l.until("two are held", func(o overview) bool { return o.Pools["run"].Busy == 2 })
	l.do("POST", "/rollouts/"+cancelled+"/cancel", "", 200)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed

	damaged := filepath.Join(folder, "rollouts", "x"+taskExtension)
	if err := os.WriteFile(damaged, []byte("noise\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		t.Run("restarted", func(t *testing.T) {
			l := newLab(t, twice, func(c *Config) { c.Folder = folder })
			after := l.wait(done)
			before.Expires, after.Expires = "", ""
			if !reflect.DeepEqual(before, after) {
				t.Errorf("%+v\n was\n%+v", after, before)
			}
			got := l.wait(cut)
			if got.State != "interrupted" || got.Cut != 3 || got.Finished != 3 || len(got.Results) != 3 {
				t.Errorf("%+v", got.state)
			}
			for _, r := range got.Results {
				if r.Outcome != "infrastructure" || r.Reward != nil || r.Detail != errEnded.Error() {
					t.Errorf("%+v", r)
				}
			}
			if got := l.wait(cancelled); got.State != "cancelled" || got.Cut != 0 || len(got.Results) != 4 {
				t.Errorf("%+v", got.state)
			}
			var o overview
			l.read(l.do("GET", "/rollouts", "", 200), &o)
			if o.Bytes < 2*perRollout {
				t.Errorf("%d bytes of results", o.Bytes)
			}
		})
	}
	t.Run("goes on", func(t *testing.T) {
		l := newLab(t, twice, func(c *Config) { c.Folder = folder })
		if notes := strings.Join(l.s.Notes, "\n"); strings.Contains(notes, "x.task") {
			t.Errorf("the damaged file is looked at again: %s", notes)
		}
		fresh := l.submit(`{"prompt": "p"}`)
		l.wait(fresh)
		if n := l.s.rollouts.tasks[fresh].number; n <= l.s.rollouts.tasks[cancelled].number {
			t.Errorf("task %d draws the numbers of an earlier one", n)
		}
		for _, id := range []string{done, cut, cancelled, fresh} {
			l.do("DELETE", "/rollouts/"+id, "", 200)
		}
		if left, _ := filepath.Glob(filepath.Join(folder, "rollouts", "*"+taskExtension)); len(left) != 0 {
			t.Errorf("files are left: %v", left)
		}
	})
}

// TestAnEndInOrder: what a server cuts off when it ends is interrupted too.
func TestAnEndInOrder(t *testing.T) {
	folder := t.TempDir()
	var id string
	t.Run("first", func(t *testing.T) {
		l := newLab(t, twice, func(c *Config) { c.Folder = folder })
		id = l.submit(`{"prompt": "p", "n": 2, "agent": "stuck", "label": "held"}`)
		l.until("both are held", func(o overview) bool { return o.Pools["run"].Busy == 2 })
	})
	l := newLab(t, twice, func(c *Config) { c.Folder, c.Rollouts.Life = folder, time.Second })
	if got := l.wait(id); got.State != "interrupted" || got.Cut != 2 {
		t.Errorf("%+v", got.state)
	}
	l.until("it is forgotten", func(o overview) bool { return len(o.Rollouts) == 0 })
}

// TestAFullShelf: an order that cannot be kept is refused; results that cannot be are there, and say so.
func TestAFullShelf(t *testing.T) {
	folder := t.TempDir()
	l := newLab(t, twice, func(c *Config) { c.Folder = folder })
	id := l.submit(`{"prompt": "p", "agent": "stuck", "label": "held"}`)
	l.until("it is held", func(o overview) bool { return o.Pools["run"].Busy == 1 })
	if err := os.RemoveAll(filepath.Join(folder, "rollouts")); err != nil { // as good as full
		t.Fatal(err)
	}
	if got := l.do("POST", "/rollouts", `{"prompt": "p"}`, 500); !strings.Contains(string(got), "cannot be kept") {
		t.Errorf("%s", got)
	}
	l.do("POST", "/rollouts/"+id+"/cancel", "", 200)
	var a struct{ Unsaved string }
	l.wait(id)
	if err := json.Unmarshal(l.do("GET", "/rollouts/"+id, "", 200), &a); err != nil || a.Unsaved == "" {
		t.Errorf("%+v %v", a, err)
	}
}
