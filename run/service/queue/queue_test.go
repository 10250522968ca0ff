package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func small() Config {
	return Config{Places: [3]int{1, 2, 1}, Waiting: 8, Bytes: 1000, Life: 10}
}

func said(actions []Action) string {
	names := [...]string{"start", "let in", "drop", "stop", "forget"}
	var words []string
	for _, a := range actions {
		if a.Do == Forget {
			words = append(words, fmt.Sprintf("forget %d", a.Key.Task))
			continue
		}
		words = append(words, fmt.Sprintf("%s %d.%d", names[a.Do], a.Key.Task, a.Key.Sample))
	}
	return strings.Join(words, ", ")
}

// enter is for what makes sense.
func enter(q *Queue, k Key, s Stage) []Action {
	actions, err := q.Enter(k, s)
	if err != nil {
		panic(err)
	}
	return actions
}

// TestOneTask is the life of three rollouts in small pools.
func TestOneTask(t *testing.T) {
	q := New(small())
	want := func(got []Action, want string) {
		t.Helper()
		if said(got) != want {
			t.Fatalf("%q; want %q", said(got), want)
		}
	}
	id, actions, err := q.Submit(4, 100)
	if err != nil || id != 1 {
		t.Fatal(id, err)
	}
	want(actions, "start 1.0")
	want(enter(q, Key{1, 0}, Run), "let in 1.0, start 1.1")
	want(enter(q, Key{1, 1}, Run), "let in 1.1, start 1.2")
	want(enter(q, Key{1, 2}, Run), "start 1.3") // 1.2 waits: two are played
	want(enter(q, Key{1, 0}, Grade), "let in 1.0, let in 1.2")
	want(enter(q, Key{1, 1}, Grade), "")
	want(q.End(5, Key{1, 0}, 30), "let in 1.1")
	for _, k := range []Key{{1, 0}, {1, 1}, {2, 0}} { // it is done, it is graded, nobody knows it
		if _, err := q.Enter(k, Run); err == nil {
			t.Errorf("%v was let in again", k)
		}
	}
	if s, _ := q.State(1); s.Rollouts != [5]int{0, 1, 1, 1, 1} || s.Open != 3 || q.Bytes() != 400 {
		t.Errorf("%+v, %d bytes", s, q.Bytes())
	}
	want(q.Cancel(6, 1), "stop 1.1, stop 1.2, stop 1.3")
	want(enter(q, Key{1, 3}, Run), "") // too late
	want(q.End(6, Key{1, 3}, 0), "")
	want(q.End(6, Key{1, 2}, 20), "")
	want(q.End(7, Key{1, 1}, 5000), "") // more than was said is not counted
	if s, _ := q.State(1); s.Open != 0 || s.Expires != 17 || !s.Cancelled || q.Bytes() != 400 {
		t.Errorf("%+v, %d bytes", s, q.Bytes())
	}
	want(q.Tick(16), "")
	want(q.Tick(17), "forget 1")
	if _, known := q.State(1); known || q.Bytes() != 0 {
		t.Error("it is still there")
	}
}

func TestBounds(t *testing.T) {
	q := New(small())
	for _, c := range []struct {
		n     int
		bytes int64
	}{{0, 1}, {9, 1}, {1, 1001}, {8, 126}, {1, -1}} {
		if _, _, err := q.Submit(c.n, c.bytes); err == nil || errors.Is(err, ErrFull) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	one, _, _ := q.Submit(8, 50) // one of them has begun
	if _, _, err := q.Submit(2, 1); !errors.Is(err, ErrFull) {
		t.Errorf("a ninth waits: %v", err)
	}
	if _, _, err := q.Submit(1, 700); !errors.Is(err, ErrFull) {
		t.Errorf("too many bytes: %v", err)
	}
	if got := said(q.Cancel(1, one)); !strings.HasPrefix(got, "stop 1.0, drop 1.1, drop 1.2") {
		t.Error(got)
	}
	if _, removed := q.Remove(one); removed {
		t.Error("removed while one runs")
	}
	q.End(1, Key{one, 0}, 10)
	if q.Bytes() != 10 {
		t.Errorf("%d bytes", q.Bytes())
	}
	if actions, removed := q.Remove(one); !removed || said(actions) != "forget 1" || q.Bytes() != 0 {
		t.Error(actions, removed)
	}
	if c := (&Config{}); c.Validate() == nil {
		t.Error("zeros are valid")
	}
}

// TestBooks: whatever happens, pools are never overfull, nobody waits beside a free place, and everything ends.
func TestBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{Waiting: rapid.IntRange(1, 12).Draw(t, "waiting"), Bytes: 10_000, Life: 5}
		for i := range c.Places {
			c.Places[i] = rapid.IntRange(1, 3).Draw(t, "places")
		}
		q, now := New(c), int64(0)
		type active struct {
			stage Stage
			held  bool // else it waits
		}
		running := map[Key]*active{}
		follow := func(actions []Action) {
			for _, a := range actions {
				switch a.Do {
				case Start:
					if running[a.Key] != nil {
						t.Fatalf("%v started twice", a.Key)
					}
					running[a.Key] = &active{SetUp, true}
				case LetIn:
					if running[a.Key].held {
						t.Fatalf("%v was let in twice", a.Key)
					}
					running[a.Key].held = true
				case Drop:
					if running[a.Key] != nil {
						t.Fatalf("%v was dropped while it runs", a.Key)
					}
				}
			}
		}
		check := func() {
			held, total := [5]int{}, 0
			for _, r := range running {
				if total++; r.held {
					held[r.stage]++
				}
			}
			for i, pool := range q.Pools() {
				if pool.Busy > pool.Places || pool.Busy != held[i+1] {
					t.Fatalf("pool %d: %+v; %d hold a place", i, pool, held[i+1])
				}
				if full := i == 0 && total == c.Places[0]+c.Places[1]+c.Places[2]; pool.Waiting > 0 && pool.Busy < pool.Places && !full {
					t.Fatalf("pool %d: %+v", i, pool)
				}
			}
			if q.Bytes() < 0 || q.Bytes() > c.Bytes {
				t.Fatalf("%d bytes", q.Bytes())
			}
		}
		pick := func(ok func(*active) bool) (Key, *active) {
			for id := range q.next {
				for s := range 12 {
					if r := running[Key{id, s}]; r != nil && ok(r) {
						return Key{id, s}, r
					}
				}
			}
			return Key{}, nil
		}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			switch rapid.IntRange(0, 4).Draw(t, "event") {
			case 0:
				if _, actions, err := q.Submit(rapid.IntRange(1, 12).Draw(t, "n"), 100); err == nil {
					follow(actions)
				}
			case 1:
				if k, r := pick(func(r *active) bool { return r.held && r.stage < Grade }); r != nil {
					if s, _ := q.State(k.Task); s.Cancelled {
						break
					}
					r.stage, r.held = r.stage+1, false
					follow(enter(q, k, r.stage))
				}
			case 2:
				if k, r := pick(func(r *active) bool { return r.held }); r != nil {
					delete(running, k)
					follow(q.End(now, k, 50))
				}
			case 3:
				follow(q.Cancel(now, rapid.Int64Range(0, q.next).Draw(t, "task")))
			case 4:
				now += 2
				follow(q.Tick(now))
			}
			check()
		}
		for len(running) > 0 {
			k, _ := pick(func(r *active) bool { return r.held })
			delete(running, k)
			follow(q.End(now, k, 50))
			check()
		}
		if q.Tick(now + c.Life); len(q.Tasks()) > 0 || q.Bytes() != 0 {
			t.Fatalf("%v, %d bytes are left", q.Tasks(), q.Bytes())
		}
	})
}
