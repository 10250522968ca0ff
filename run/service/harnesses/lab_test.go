package harnesses

// A gateway and a server as molt launch has them, on an engine that says what the script says and remembers every call.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"molt/agent"
	"molt/agent/command"
	"molt/chat/parse"
	"molt/engine"
	"molt/gateway/capture"
	"molt/gateway/script"
	"molt/gateway/serve"
	"molt/internal/child"
)

// asked is one call of the engine, as the engine saw it.
type asked struct {
	tag    string
	prompt []int32
	said   []int32
	err    error
}

// recorder is the scripted engine with a memory.
type recorder struct {
	*script.Engine
	room int // tokens that a conversation may grow by behind its first prompt; 0 sets no bound

	mu    sync.Mutex // guards what follows
	calls []*asked
	first int // longest first prompt: the bound counts from it
}

func (r *recorder) Capabilities() engine.Capabilities {
	c := r.Engine.Capabilities()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.room > 0 && r.first > 0 {
		c.MaxTokens = r.first + r.room
	}
	return c
}

// Generate implements engine.Generator.
func (r *recorder) Generate(ctx context.Context, q engine.Request, emit func(engine.Token)) (engine.Reply, error) {
	c := &asked{tag: q.Tag, prompt: bytes32(q.Prompt)}
	r.mu.Lock()
	r.calls = append(r.calls, c)
	if r.first == 0 {
		r.first = len(q.Prompt)
	}
	r.mu.Unlock()
	reply, err := r.Engine.Generate(ctx, q, func(t engine.Token) {
		r.mu.Lock()
		c.said = append(c.said, t.ID)
		r.mu.Unlock()
		emit(t)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	c.err = err
	return reply, err
}

// sampled reports whether a reply has this text.
func (r *recorder) sampled(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.calls, func(c *asked) bool { return strings.Contains(decode(c.said), text+ended) })
}

func bytes32(ids []int32) []int32 { return append([]int32(nil), ids...) }

// trial is one run of a harness.
type trial struct {
	kit     *kit
	prompt  string
	lines   []script.Line
	preset  func(*command.Preset) // changes it
	resume  int                   // of capture.Config
	room    int                   // of recorder
	length  int                   // of a conversation, as the harness is told; 0 is long
	sever   int                   // the request with tools, from 1, whose connection breaks before the end of the reply; 0 for none
	args    []string              // more of them for its command
	typed   []keys                // what a person does at a terminal; nil without one
	watched bool                  // its attempts to reach others are listed
}

// result is what a trial left.
type result struct {
	export  capture.Export
	calls   []*asked
	code    int
	output  string
	work    map[string]string // files of the workspace
	abroad  []string          // addresses outside of this machine that it tried to reach
	watched bool
	bodies  []string // of its requests, in order of arrival
}

func (r *trial) run(t *testing.T) *result {
	t.Helper()
	render, err := script.Model()
	if err != nil {
		t.Fatal(err)
	}
	end, _ := render.EndOfTurn()
	e := &recorder{Engine: script.New(r.lines, render.Tokenizer(), end, 400_000), room: r.room}
	c := capture.Defaults()
	if c.Family, err = parse.Named("hermes"); err != nil {
		t.Fatal(err)
	}
	c.Generator, c.Renderer, c.Model, c.Resume = e, render, "policy", r.resume
	gateway, err := capture.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer gateway.Close()
	server, err := serve.New(serve.Config{Gateway: gateway, Alive: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	d := &door{inner: server, sever: r.sever}
	h := httptest.NewServer(d)
	defer h.Close()
	defer h.CloseClientConnections()
	session, err := gateway.Open(capture.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := r.start(t, e, agent.Address{Session: session.ID, URL: h.URL + "/s/" + session.Key, Key: session.Key, Model: "policy"})
	got.export = session.Export()
	e.mu.Lock()
	got.calls = e.calls
	e.mu.Unlock()
	got.bodies = d.bodies
	return got
}

// start runs the harness as its preset says, in a clean home and an empty folder.
func (r *trial) start(t *testing.T, e *recorder, address agent.Address) *result {
	t.Helper()
	preset, err := command.Preset{Command: r.kit.program}, error(nil)
	if r.kit.program == "" {
		preset, err = command.FindPreset(r.kit.preset)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r.preset != nil {
		r.preset(&preset)
	}
	p, err := command.Prepare(preset, address, command.Place{Prompt: r.prompt, Interactive: r.typed != nil, MaxLength: cmp.Or(r.length, 200_000)})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Remove()
	argv := append(p.Argv, r.args...)
	if r.typed != nil {
		argv = terminal(argv)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	if _, err := exec.LookPath("strace"); err == nil && r.watched {
		argv = append([]string{"strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=connect", "-e", "signal=none", "-o", trace}, argv...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	command.Dir, command.Env, command.SysProcAttr = p.Dir, p.Environ, child.OwnGroup()
	command.Cancel = func() error { return child.KillGroup(command.Process.Pid) }
	command.WaitDelay = 2 * time.Second
	var output screen
	command.Stdout, command.Stderr = &output, &output
	var missed <-chan error
	if r.typed != nil {
		command.Env = append(command.Env, "TERM=xterm-256color")
		missed = seated(t, command, &output, r.typed, e.sampled, cancel)
	} else if preset.Stdin {
		command.Stdin = strings.NewReader(r.prompt)
	}
	err = command.Run()
	if missed != nil {
		if err := <-missed; err != nil {
			t.Log(err)
		}
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatal(err)
	}
	_ = child.KillGroup(command.Process.Pid) // what it left running
	got := &result{code: command.ProcessState.ExitCode(), output: output.raw.String(), work: files(p.Dir)}
	if raw, err := os.ReadFile(trace); err == nil {
		got.abroad, got.watched = abroad(string(raw)), true
	}
	return got
}

// files are the small files of a folder.
func files(dir string) map[string]string {
	found := map[string]string{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if raw, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil && len(raw) < 1<<12 {
			found[e.Name()] = string(raw)
		}
	}
	return found
}

// door notes requests, and breaks one connection.
type door struct {
	inner http.Handler
	sever int

	mu     sync.Mutex // guards what follows
	bodies []string
	tools  int // requests that offer tools
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var head strings.Builder
		_ = r.Header.Write(&head) // into memory
		d.mu.Lock()
		d.bodies = append(d.bodies, r.URL.Path+"\n"+head.String()+"\n"+string(body))
		if offers.Match(body) {
			d.tools++
			if d.tools == d.sever {
				w = &severed{w}
			}
		}
		d.mu.Unlock()
	}
	d.inner.ServeHTTP(w, r)
}

var offers = regexp.MustCompile(`"tools": ?\[ ?\{`)

// severed is a connection that breaks just before a reply ends.
type severed struct{ http.ResponseWriter }

func (s *severed) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *severed) Write(p []byte) (int, error) {
	if ends.Match(p) {
		panic(http.ErrAbortHandler)
	}
	return s.ResponseWriter.Write(p)
}

var ends = regexp.MustCompile(`data: \[DONE\]|event: message_stop|event: response.completed|"object": ?"chat.completion"`)
