package service

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"molt/agent"
	"molt/chat"
)

func TestMain(m *testing.M) {
	agent.Register("parrot", "two replies, each worth its length", struct{}{}, func(struct{}) (func() agent.Env, error) {
		return func() agent.Env { return parrot{} }, nil
	})
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))
}

type parrot struct{}

func (parrot) Reset(_ context.Context, t agent.Task) (agent.Start, error) {
	if t.Label == "broken" {
		return agent.Start{}, fmt.Errorf("the world of %s is broken", t.ID)
	}
	return agent.Start{Messages: t.Messages}, nil
}

func (parrot) Step(_ context.Context, a agent.Action) (agent.Result, error) {
	return agent.Result{Reward: float64(len(a.Message.Content)), Terminated: a.Turn == 1, Observation: []chat.Message{{Role: chat.User, Content: "again"}}}, nil
}

func (parrot) Close() error { return nil }

// lab is a service on a script.
type lab struct {
	t   *testing.T
	s   *Service
	url string
}

func newLab(t *testing.T, lines string, change func(*Config)) *lab {
	t.Helper()
	c := Defaults()
	c.Listen, c.Script, c.Context = "127.0.0.1:0", filepath.Join(t.TempDir(), "script.jsonl"), 4096
	c.Rollouts.Agent.Name = "parrot"
	if err := os.WriteFile(c.Script, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&c)
	}
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &lab{t, s, s.URL()}
}

// do sends a request and wants a status.
func (l *lab) do(method, path, body string, want int, headers ...string) []byte {
	l.t.Helper()
	r, err := http.NewRequest(method, l.url+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != want {
		l.t.Fatalf("%s %s: %d %s %v; want %d", method, path, answer.StatusCode, data, err, want)
	}
	return data
}

func (l *lab) submit(body string) string {
	l.t.Helper()
	var s state
	l.read(l.do("POST", "/rollouts", body, 202), &s)
	return s.ID
}

func (l *lab) read(data []byte, v any) {
	l.t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		l.t.Fatalf("%v: %s", err, data)
	}
}

type answer struct {
	state
	Results []result
}

func (l *lab) wait(id string) answer {
	l.t.Helper()
	var a answer
	l.read(l.do("GET", "/rollouts/"+id+"/results?wait=60", "", 200), &a)
	return a
}

const twice = `{"text": "four", "loop": true}`

// TestRollouts: two rollouts of two turns come back token by token.
func TestRollouts(t *testing.T) {
	l := newLab(t, twice, nil)
	id := l.submit(`{"id": "mine", "prompt": "Say four.", "n": 2, "seed": 7, "metadata": {"row": [1, 2]}}`)
	a := l.wait(id)
	if a.State != "done" || a.Finished != 2 || a.Order != "mine" || string(a.Meta) != `{"row":[1,2]}` || a.Expires == "" || len(a.Results) != 2 {
		t.Fatalf("%+v", a)
	}
	for i, r := range a.Results {
		if r.Sample != i || r.Outcome != "completed" || *r.Reward != 8 || *r.Score != 8 || r.Turns != 2 || len(r.Segments) != 1 {
			t.Fatalf("%+v", r)
		}
		s := r.Segments[0]
		n, sampled := len(s.Tokens), 0
		for at, action := range s.Action {
			if action {
				sampled++
			} else if s.LogpGen[at] != 0 {
				t.Errorf("token %d was shown and has a log-prob", at)
			}
		}
		if n == 0 || len(s.LogpGen) != n || len(s.Version) != n || len(s.Temp) != n || len(s.Node) != n || sampled == 0 || sampled == n {
			t.Errorf("%d tokens, %d sampled: %+v", n, sampled, s)
		}
	}
	var list overview
	l.read(l.do("GET", "/rollouts", "", 200), &list)
	if len(list.Rollouts) != 1 || list.Bytes == 0 || list.Pools["run"].Places != 64 {
		t.Errorf("%+v", list)
	}
	l.do("DELETE", "/rollouts/"+id, "", 200)
	l.do("GET", "/rollouts/"+id, "", 404)
}

// TestSafetensors reads the file back by hand and compares it with the JSON.
func TestSafetensors(t *testing.T) {
	l := newLab(t, twice, nil)
	id := l.submit(`{"prompt": "Say four.", "n": 2}`)
	broken := l.submit(`{"prompt": "Say four.", "label": "broken"}`)
	a := l.wait(id)
	l.wait(broken)
	data := l.do("GET", "/rollouts/"+id+"/results?format=safetensors", "", 200)
	length := binary.LittleEndian.Uint64(data)
	var header map[string]struct {
		Dtype   string
		Shape   []int
		Offsets [2]int `json:"data_offsets"`
	}
	var meta struct {
		Meta map[string]string `json:"__metadata__"`
	}
	l.read(data[8:8+length], &meta)
	delete(header, "__metadata__")
	raw := map[string]json.RawMessage{}
	l.read(data[8:8+length], &raw)
	delete(raw, "__metadata__")
	text, _ := json.Marshal(raw)
	l.read(text, &header)
	at := func(name string) []byte {
		h := header[name]
		return data[8+int(length):][h.Offsets[0]:h.Offsets[1]]
	}
	var want []int32
	var logps []float32
	for _, r := range a.Results {
		want, logps = append(want, r.Segments[0].Tokens...), append(logps, r.Segments[0].LogpGen...)
	}
	got, gotLogps := make([]int32, len(want)), make([]float32, len(want))
	if err := binary.Read(bytes.NewReader(at("tokens")), binary.LittleEndian, got); err != nil {
		t.Fatal(err)
	}
	if err := binary.Read(bytes.NewReader(at("logp")), binary.LittleEndian, gotLogps); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(gotLogps) != fmt.Sprint(logps) {
		t.Errorf("%v\n%v", got, want)
	}
	offsets := make([]int64, 3)
	if err := binary.Read(bytes.NewReader(at("segment_offsets")), binary.LittleEndian, offsets); err != nil || offsets[2] != int64(len(want)) || offsets[1] != int64(len(want)/2) {
		t.Errorf("%v, %v", offsets, err)
	}
	if fmt.Sprint(at("segment_rollout")) != "[0 0 0 0 1 0 0 0]" || header["action"].Dtype != "BOOL" || len(at("action")) != len(want) {
		t.Errorf("%v", header)
	}
	if r := math.Float64frombits(binary.LittleEndian.Uint64(at("reward"))); r != 8 || !strings.Contains(meta.Meta["rollouts"], `"outcome":"completed"`) {
		t.Errorf("reward %v, %v", r, meta.Meta)
	}
	data = l.do("GET", "/rollouts/"+broken+"/results?format=safetensors", "", 200)
	if length = binary.LittleEndian.Uint64(data); !bytes.Contains(data[:8+length], []byte(`harness`)) {
		t.Errorf("%s", data[:8+length])
	}
}

// TestFailuresAreNull: what the world did is no reward.
func TestFailuresAreNull(t *testing.T) {
	l := newLab(t, twice, nil)
	a := l.wait(l.submit(`{"id": "x", "prompt": "p", "label": "broken"}`))
	if r := a.Results[0]; r.Reward != nil || r.Score != nil || r.Outcome != "harness" || !strings.Contains(r.Detail, "the world of x is broken") || len(r.Segments) != 0 {
		t.Errorf("%+v", r)
	}
	a = l.wait(l.submit(`{"prompt": "p", "limits": {"turns": 1}}`))
	if r := a.Results[0]; r.Outcome != "truncated" || *r.Reward != 4 || r.Turns != 1 {
		t.Errorf("%+v", r)
	}
	a = l.wait(l.submit(`{"prompt": "p", "limits": {"tokens": 20}}`))
	if r := a.Results[0]; r.Outcome != "truncated" || r.Turns != 1 {
		t.Errorf("%+v", r)
	}
}

// TestOrdersThatAreRefused lists what clients get wrong.
func TestOrdersThatAreRefused(t *testing.T) {
	l := newLab(t, twice, func(c *Config) { c.Rollouts.Most = 8 })
	for body, says := range map[string]string{
		``:                                  "",
		`{}`:                                "prompt is empty",
		`{"prompt": "p", "n": 9}`:           "n is 9; want 1 to 8",
		`{"prompt": "p", "n": 0}`:           "n is 0",
		`{"prompt": "p", "messages": []}`:   "want one of them",
		`{"messages": []}`:                  "messages is empty",
		`{"messages": [{"role": "robot"}]}`: "messages",
		`{"prompt": "p", "promt": 1}`:       "promt: there is no such field",
		`{"prompt": "p", "n": "four"}`:      "n: is a string; want an integer",
		`{"prompt": "p", "limits": {"turns": "two"}}`:                 "limits.turns: is a string; want an integer",
		`{"prompt": "p", "agent": {"reward": {"form": "none"}}}`:      "agent.reward.form: there is no such field",
		`{"prompt": "p", "seed": -1}`:                                 "seed is -1",
		`{"prompt": "p", "tools": 3}`:                                 "tools",
		`{"prompt": "p", "agent": "nobody"}`:                          "no agent",
		`{"prompt": "p", "agent": {"command": "sh -c true"}}`:         "runs no programs",
		`{"prompt": "p", "agent": {"preset": "claude"}}`:              "runs no programs",
		`{"prompt": "p", "limits": {"tokens": 100000}}`:               "limits.tokens is 100000; want 1 to 4096",
		`{"prompt": "p", "limits": {"seconds": 1e9}}`:                 "limits.seconds",
		`{"prompt": "p", "limits": {"turns": -1}}`:                    "limits.turns",
		`{"prompt": "p", "messages": ` + strings.Repeat("[", 100_000): "",
	} {
		if got := l.do("POST", "/rollouts", body, 400); !strings.Contains(string(got), says) {
			t.Errorf("%.60s: %s; want %q", body, got, says)
		}
	}
	l.do("POST", "/rollouts", strings.Repeat(" ", maxBody+1), 413)
	l.do("PUT", "/rollouts", "", 405)
	l.do("GET", "/rollouts/none", "", 404)
	l.do("GET", "/rollouts/../sessions", "", 404)
	id := l.submit(`{"prompt": "p"}`)
	l.wait(id)
	l.do("GET", "/rollouts/"+id+"/other", "", 404)
	l.do("GET", "/rollouts/"+id+"/results?wait=x", "", 400)
	l.do("POST", "/rollouts", `{"prompt": "p"}`, 401, "Origin", "http://elsewhere")
}

func TestTheTokenGuards(t *testing.T) {
	l := newLab(t, twice, func(c *Config) { c.Token = "0123456789abcdef" })
	l.do("POST", "/rollouts", `{"prompt": "p"}`, 401)
	l.do("GET", "/rollouts", "", 401, "Authorization", "Bearer wrong")
	l.do("POST", "/rollouts", `{"prompt": "p"}`, 202, "Authorization", "Bearer 0123456789abcdef")
}

// TestEvents: a stream says where the rollouts are and ends with the last.
func TestEvents(t *testing.T) {
	l := newLab(t, twice, nil)
	id := l.submit(`{"prompt": "p", "n": 3}`)
	lines := bufio.NewScanner(bytes.NewReader(l.do("GET", "/rollouts/"+id+"/events", "", 200)))
	samples, last := map[int]bool{}, ""
	for lines.Scan() {
		var e struct {
			Sample  *int
			Outcome string
			State   string
		}
		l.read(lines.Bytes(), &e)
		if e.Sample != nil {
			samples[*e.Sample] = e.Outcome == "completed"
		} else {
			last = e.State
		}
	}
	if len(samples) != 3 || !samples[0] || !samples[1] || !samples[2] || last != "done" {
		t.Errorf("%v, %s", samples, last)
	}
}

// TestCancelFreesEverything: programs and turns that would last for ever are gone within a second, and places are free again.
func TestCancelFreesEverything(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip("SKIPPED: there is no sleep")
	}
	l := newLab(t, `{"text": "half a thought", "trouble": "hang", "after": 1, "loop": true}`, func(c *Config) {
		c.Rollouts.Trusting, c.Rollouts.Places = true, [3]int{1, 2, 1}
	})
	programs := l.submit(`{"prompt": "p", "n": 2, "agent": {"command": "sleep 600"}}`)
	turns := l.submit(`{"prompt": "p", "n": 3}`)
	l.until("both are running", func(o overview) bool {
		return o.Pools["run"].Busy == 2 && o.Pools["set_up"].Waiting+o.Pools["run"].Waiting > 0
	})
	l.do("DELETE", "/rollouts/"+programs, "", 409)
	begin := time.Now()
	l.do("POST", "/rollouts/"+programs+"/cancel", "", 200)
	a := l.wait(programs)
	if took := time.Since(begin); took > time.Second {
		t.Errorf("programs took %v to end", took)
	}
	for _, r := range a.Results {
		if r.Outcome != "cancelled" || r.Reward != nil {
			t.Errorf("%+v", r)
		}
	}
	l.until("a turn hangs", func(o overview) bool { return o.Pools["run"].Busy == 2 })
	begin = time.Now()
	l.do("POST", "/rollouts/"+turns+"/cancel", "", 200)
	if a = l.wait(turns); a.State != "cancelled" || len(a.Results) != 3 {
		t.Errorf("%+v", a)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("turns took %v to end", took)
	}
	l.until("all places are free", func(o overview) bool {
		return o.Pools["set_up"].Busy+o.Pools["run"].Busy+o.Pools["grade"].Busy == 0
	})
}

// until asks until it is so.
func (l *lab) until(what string, so func(overview) bool) {
	l.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		var o overview
		l.read(l.do("GET", "/rollouts", "", 200), &o)
		if so(o) {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("never: %s: %+v", what, o)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestProgramsAreGradedApart: a grader has a place of its own.
func TestProgramsAreGradedApart(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("SKIPPED: there is no curl")
	}
	folder := t.TempDir()
	release := filepath.Join(folder, "release")
	ask := `curl -s -H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" -d "{\"messages\":[{\"role\":\"user\",\"content\":\"p\"}]}" $OPENAI_BASE_URL/chat/completions`
	for name, text := range map[string]string{"ask.sh": ask, "grade.sh": "while ! [ -e " + release + " ]; do sleep 0.02; done; echo 0.5"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := newLab(t, twice, func(c *Config) {
		c.Rollouts.Places = [3]int{1, 2, 1}
		c.Rollouts.Agent.Command, c.Rollouts.Agent.Reward.From = "sh "+filepath.Join(folder, "ask.sh"), "grader"
		c.Rollouts.Agent.Reward.Grader = "sh " + filepath.Join(folder, "grade.sh")
	})
	if got := l.do("POST", "/rollouts", `{"prompt": "p", "limits": {"turns": 2}}`, 400); !strings.Contains(string(got), "as often as it likes") {
		t.Errorf("%s", got)
	}
	id := l.submit(`{"prompt": "p", "n": 3}`)
	l.until("one is graded, two wait for it", func(o overview) bool { return o.Pools["grade"].Busy == 1 && o.Pools["grade"].Waiting == 2 })
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range l.wait(id).Results {
		if r.Outcome != "completed" || *r.Reward != 0.5 || len(r.Segments) != 1 {
			t.Errorf("%+v", r)
		}
	}
}

// TestFull: what does not fit comes back later, and is told so.
func TestFull(t *testing.T) {
	l := newLab(t, `{"text": "half a thought", "trouble": "hang", "after": 1, "loop": true}`, func(c *Config) {
		c.Rollouts.Places, c.Rollouts.Waiting, c.Rollouts.MiB = [3]int{1, 1, 1}, 4, 1
	})
	l.do("POST", "/rollouts", `{"prompt": "p", "n": 5}`, 400)
	l.submit(`{"prompt": "p", "n": 4}`)
	l.until("they are as far as they come", func(o overview) bool { return o.Pools["set_up"].Waiting == 1 })
	if got := l.do("POST", "/rollouts", `{"prompt": "p", "n": 4}`, 429); !strings.Contains(string(got), "wait") {
		t.Errorf("%s", got)
	}
}
