// What the tests of whole runs share: a model of a few thousand numbers, prompts, environments that misbehave on request,
// and this test binary started again as a process of its own, so that it can be killed.

package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"molt/agent"
	"molt/chat"
	"molt/metrics"
	"molt/run/finetune"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/weights"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// childVar names the file with the job of a child process.
const childVar = "MOLT_TEST_JOB"

// environments are those of the tests, by name; a test may replace one.
var environments = map[string]func() agent.Env{}

func init() {
	for _, name := range []string{"vowels", "faulty", "rich", "richer", "booked", "flaky"} {
		agent.Register(name, "of the tests", struct{}{}, always(func() agent.Env { return environments[name]() }))
	}
}

func TestMain(m *testing.M) {
	environments["vowels"] = func() agent.Env { return &vowels{} }
	environments["faulty"] = func() agent.Env { return &faulty{} }
	if path := os.Getenv(childVar); path != "" {
		os.Exit(child(path))
	}
	code := m.Run()
	if os.RemoveAll(base.dir) != nil {
		code = 1
	}
	os.Exit(code)
}

// slow leaves a test out where only goroutines are looked at: it starts many processes or many runs.
func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("many runs")
	}
}

// job is what a child process does.
type job struct {
	RL        *recipe.Config
	SFT       *recipe.SFTConfig
	FileLimit uint64 // bytes that a file may have; 0 is no limit
	OpenLimit uint64 // files that may be open; 0 is no limit
}

// child does the job as the command line would, and exits like it.
func child(path string) int {
	text, err := os.ReadFile(path)
	var j job
	if err == nil {
		err = json.Unmarshal(text, &j)
	}
	if err == nil {
		err = j.confine()
	}
	if err == nil {
		err = j.do(context.Background())
	}
	if p, ok := errors.AsType[*problem.Problem](err); ok {
		fmt.Fprintf(os.Stderr, "error[%s]: ", p.Code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// confine lets the system refuse what goes beyond the job's limits.
func (j job) confine() error {
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit then fails with an error, as on a full disk
	for which, limit := range map[int]uint64{syscall.RLIMIT_FSIZE: j.FileLimit, syscall.RLIMIT_NOFILE: j.OpenLimit} {
		if limit == 0 {
			continue
		}
		if err := syscall.Setrlimit(which, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}

func (j job) do(ctx context.Context) error {
	if j.SFT != nil {
		_, err := finetune.Run(ctx, j.SFT, recipe.Settings(j.SFT), leg.View{Command: "again"})
		return err
	}
	_, err := RL(ctx, j.RL, recipe.Settings(j.RL), leg.View{Command: "again"})
	return err
}

// process is a job in a process of its own.
type process struct {
	*exec.Cmd
	stderr bytes.Buffer
	ended  chan struct{} // closed when it has ended
	err    error         // how; read after ended
}

func (j job) start(t *testing.T, env ...string) *process {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	p.Env = append(append(os.Environ(), childVar+"="+write(t, t.TempDir(), "job.json", string(text))), env...)
	p.Stderr = &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.Wait()
		close(p.ended)
	}()
	return p
}

// output waits for the end.
func (p *process) output() (stderr string, err error) {
	<-p.ended
	return p.stderr.String(), p.err
}

// base is the model that all tests start from, made once.
var base struct {
	once sync.Once
	dir  string
	err  error
}

// micro gives a model folder with a chat template.
func micro(t *testing.T) string {
	t.Helper()
	base.once.Do(func() {
		if base.dir, base.err = os.MkdirTemp("", "molt-run-test"); base.err == nil {
			base.err = models.Init(microModel(filepath.Join(base.dir, "model")))
		}
	})
	if base.err != nil {
		t.Fatal(base.err)
	}
	return filepath.Join(base.dir, "model")
}

func microModel(out string) models.InitConfig {
	return models.InitConfig{
		Out: out, Seed: 7, VocabSize: 300, Texts: slices.Values([]string{"what is the answer to this question? say it again"}),
		Shape: weights.ModelConfig{
			Architecture: weights.Qwen3, HiddenSize: 16, IntermediateSize: 32, NumHiddenLayers: 1, NumAttentionHeads: 2, NumKeyValueHeads: 1,
			HeadDim: 8, MaxPositionEmbeddings: 512, RMSNormEps: 1e-6, RopeTheta: 10000, TieWordEmbeddings: true,
		},
	}
}

// copyModel gives a copy of the model that a test may spoil.
func copyModel(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	if err := os.CopyFS(dir, os.DirFS(micro(t))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// write makes a file in dir and gives its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// rows are n prompts with labels.
func rows(n int, word string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"input": "%s %d?", "label": "%d"}`+"\n", word, i, i)
	}
	return b.String()
}

// microRL is a run of four steps that takes part of a second and changes its weights in every step.
func microRL(t *testing.T) *recipe.Config {
	t.Helper()
	dir := t.TempDir()
	c := recipe.Defaults()
	c.Model.Path = micro(t)
	c.Data.Prompts, c.Data.LabelKey = []string{write(t, dir, "prompts.jsonl", rows(9, "what"))}, "label"
	c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = []string{write(t, dir, "held_out.jsonl", rows(3, "where"))}, 2, true
	c.Agent.Name, c.Agent.MaxTurns = "vowels", 3
	c.Rollout.BatchSize, c.Rollout.Samples, c.Rollout.MaxNewTokens, c.Rollout.MaxLen = 3, 4, 5, 160
	c.Actor.Adam.LR = 0.02
	c.Train.Steps, c.Train.BatchSize, c.Train.MicroTokens = 4, 6, 256
	c.Ckpt.Path = filepath.Join(dir, "run")
	c.Engine.Threads = 1
	return &c
}

// microSFT learns from eight conversations.
func microSFT(t *testing.T) *recipe.SFTConfig {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, `{"messages": [{"role": "user", "content": "what %d?"}, {"role": "assistant", "content": "it is %d"}]}`+"\n", i, i*i)
	}
	c := recipe.SFTDefaults()
	c.Model.Path, c.Model.Adam.LR = micro(t), 0.01
	c.Data.Dataset, c.Data.MaxLen = []string{write(t, dir, "chats.jsonl", b.String())}, 128
	c.Train.Steps, c.Train.BatchSize, c.Train.MicroTokens = 24, 3, 256
	c.Ckpt.Path, c.Ckpt.SaveSteps = filepath.Join(dir, "run"), 2
	c.Logger.Every, c.Engine.Threads = 1, 1
	return &c
}

func runRL(t *testing.T, c *recipe.Config) *RLResult {
	t.Helper()
	r, err := RL(t.Context(), c, recipe.Settings(c), leg.View{Command: "again"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func runSFT(t *testing.T, c *recipe.SFTConfig) *finetune.Result {
	t.Helper()
	r, err := finetune.Run(t.Context(), c, recipe.Settings(c), leg.View{Command: "again"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// traces is what a finished run leaves that another run of the same configuration must leave too, bit for bit.
type traces struct {
	Weights    map[string][]byte // of the exported models
	Checkpoint []byte            // tensors of the newest checkpoint: weights and moments
	State      any               // of the newest checkpoint
	Events     []metrics.Event   // measurements, without times
}

// tracesOf reads them.
func tracesOf(t *testing.T, run string, models ...string) traces {
	t.Helper()
	tr := traces{Weights: map[string][]byte{}}
	for _, m := range models {
		tr.Weights[m] = read(t, filepath.Join(run, m, "model.safetensors"))
	}
	s, _, err := weights.Latest(filepath.Join(run, folder.CheckpointsDir))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tr.Checkpoint = read(t, filepath.Join(s.Path, "tensors.safetensors"))
	if err := json.Unmarshal(s.State, &tr.State); err != nil {
		t.Fatal(err)
	}
	forget(tr.State, "seq", "seconds")
	records := eventsIn(t, run)
	tr.Events = measured(records)
	return tr
}

// eventsIn reads the events of a run. Some may be missing, where the disk was full when they were written; the others are whole.
func eventsIn(t *testing.T, run string) []metrics.Record {
	t.Helper()
	records, damage := metrics.Salvage(filepath.Join(run, folder.EventsFile))
	if damage != nil {
		for _, what := range strings.Split(damage.Error(), "; ") {
			if !strings.Contains(what, " missing before line ") {
				t.Fatal(damage)
			}
		}
	}
	return records
}

// forget deletes keys at any depth.
func forget(v any, keys ...string) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if slices.Contains(keys, key) {
				delete(v, key)
			}
			forget(value, keys...)
		}
	case []any:
		for _, value := range v {
			forget(value, keys...)
		}
	}
}

// measured lists what was measured, without times.
func measured(records []metrics.Record) []metrics.Event {
	var list []metrics.Event
	for _, r := range records {
		switch e := r.Event.(type) {
		case metrics.StepDone:
			e.Seconds, e.WallSeconds, e.GeneratedPerSec, e.TrainedPerSec, e.Idle = nil, 0, 0, 0, 0
			list = append(list, e)
		case metrics.EvalDone:
			e.WallSeconds = 0
			list = append(list, e)
		case metrics.SFTStep:
			e.WallSeconds = 0
			list = append(list, e)
		case metrics.CheckpointSaved, metrics.Alarm:
			list = append(list, r.Event)
		}
	}
	return list
}

// same compares traces.
func (tr traces) same(t *testing.T, want traces) {
	t.Helper()
	for m := range want.Weights {
		if !bytes.Equal(tr.Weights[m], want.Weights[m]) {
			t.Errorf("the weights in %s differ", m)
		}
	}
	if !bytes.Equal(tr.Checkpoint, want.Checkpoint) {
		t.Error("weights or moments of the newest checkpoint differ")
	}
	if diff := cmp.Diff(want.State, tr.State); diff != "" {
		t.Errorf("the state of the newest checkpoint differs:\n%s", diff)
	}
	if diff := cmp.Diff(want.Events, tr.Events, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the events differ:\n%s", diff)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// alarms lists the names of the alarms of a run, each once, in order.
func alarms(t *testing.T, run string) []string {
	t.Helper()
	records := eventsIn(t, run)
	var names []string
	for _, a := range metrics.Of[metrics.Alarm](records) {
		if !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// vowels pays for the share of vowels in two replies: a task that random weights already earn something with.
type vowels struct{ asked string }

func (e *vowels) Reset(_ context.Context, task agent.Task) (agent.Start, error) {
	e.asked = task.Messages[0].Content
	return agent.Start{Messages: task.Messages}, nil
}

func (e *vowels) Step(_ context.Context, a agent.Action) (agent.Result, error) {
	r := agent.Result{Reward: share(a.Text), Terminated: a.Turn == 1, Info: map[string]float64{"bytes": float64(len(a.Text))}}
	if !r.Terminated {
		r.Observation = []chat.Message{{Role: chat.User, Content: "again: " + e.asked}}
	}
	score := math.Round(4 * r.Reward)
	r.Score = &score
	return r, nil
}

func (e *vowels) Close() error { return nil }

func share(text string) float64 {
	n := 0
	for _, c := range text {
		if strings.ContainsRune("aeiou", c) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(text)))
}

// faulty is vowels, unless the first word of the prompt says otherwise.
type faulty struct{ vowels }

var (
	errSandbox = fmt.Errorf("the sandbox is gone: %w", chat.ErrInfrastructure)
	never      = make(chan struct{}) // what a hanging environment waits for
)

func (e *faulty) Step(ctx context.Context, a agent.Action) (agent.Result, error) {
	word, _, _ := strings.Cut(e.asked, " ")
	if word == "sometimes" { // three of ten rollouts: the reply decides, so it is the same three whenever they run
		word = []string{"panic", "error", "nan", "", "", "", "", "", "", ""}[hash(a.Text)%10]
	}
	switch word {
	case "panic":
		panic("the environment has a bug")
	case "hang":
		<-never
	case "error":
		return agent.Result{}, errors.New("the environment could not tell")
	case "sandbox":
		return agent.Result{}, errSandbox
	case "nan":
		return agent.Result{Reward: math.NaN(), Terminated: true}, nil
	}
	return e.vowels.Step(ctx, a)
}

func hash(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}

func wantProblem(t *testing.T, err error, code problem.Code, text string) {
	t.Helper()
	var p *problem.Problem
	if !errors.As(err, &p) || p.Code != code || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %s with %q", err, code, text)
	}
}
