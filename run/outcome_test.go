// Failures are typed, shown, and never graded; and a run ends with the truth about how it went.

package run

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"molt/agent"
	"molt/engine"
	"molt/metrics"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/traj"
)

func eventsOf(t *testing.T, c *recipe.Config) []metrics.Record {
	t.Helper()
	records, err := metrics.Salvage(filepath.Join(c.Ckpt.Path, folder.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// book notes what environments paid, so that a test can compare it with what the run believes.
type book struct {
	mu   sync.Mutex
	paid []float64 // of rollouts that came to their end
	lost int       // rollouts that failed
}

type booked struct {
	faulty
	book *book
	sum  float64
}

func (e *booked) Step(ctx context.Context, a agent.Action) (r agent.Result, err error) {
	failed := true
	defer func() {
		e.book.mu.Lock()
		defer e.book.mu.Unlock()
		switch {
		case failed:
			e.book.lost++
		case r.Terminated:
			e.book.paid = append(e.book.paid, e.sum)
		}
	}()
	r, err = e.faulty.Step(ctx, a)
	r.Reward++ // no reward is 0, so a 0 could only come from a failure
	e.sum += r.Reward
	failed = err != nil || math.IsNaN(r.Reward)
	return r, err
}

// TestFailuresAreNeverRewards: three of ten rollouts panic, report an error or return NaN.
func TestFailuresAreNeverRewards(t *testing.T) {
	ledger := &book{}
	environments["booked"] = func() agent.Env { return &booked{book: ledger} }
	c := microRL(t)
	c.Agent.Name, c.Data.Prompts, c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = "booked", rowsOf(t, 9, "sometimes"), nil, 0, false
	c.Rollout.BatchSize, c.Rollout.Samples, c.Train.Steps = 6, 8, 5
	runRL(t, c)

	var graded, failed int
	var sum float64
	for _, e := range metrics.Of[metrics.StepDone](eventsOf(t, c)) {
		if e.Reward.N != e.Outcomes[string(traj.Completed)] {
			t.Errorf("step %d: %d rewards of %v", e.Step, e.Reward.N, e.Outcomes)
		}
		if e.Reward.N > 0 && e.Reward.Min < 2 {
			t.Errorf("step %d: a reward of %v, which no environment paid", e.Step, e.Reward.Min)
		}
		for _, o := range traj.Outcomes {
			if !o.Graded() {
				failed += e.Outcomes[string(o)]
			}
		}
		graded += e.Reward.N
		sum += e.Reward.Mean * float64(e.Reward.N)
		if e.Outcomes[string(traj.Harness)]*e.Outcomes[string(traj.Grader)] == 0 {
			t.Errorf("step %d: outcomes %v; want failures of the harness and of the grader", e.Step, e.Outcomes)
		}
	}
	paid := 0.0
	for _, r := range ledger.paid {
		paid += r
	}
	if graded != len(ledger.paid) || failed != ledger.lost || math.Abs(sum-paid) > 1e-6*paid {
		t.Errorf("the events count %d graded worth %v and %d failed; the environments %d worth %v and %d", graded, sum, failed, len(ledger.paid), paid, ledger.lost)
	}
	if share := float64(failed) / float64(graded+failed); share < 0.2 || share > 0.7 {
		t.Errorf("%.0f %% failed, which shows little", 100*share)
	}
	if names := alarms(t, c.Ckpt.Path); !slices.Contains(names, "failed-rollouts") {
		t.Errorf("raised %q", names)
	}
}

// TestGroupsThatFailAreCounted: a group of which nothing is left never reaches a step, and is told about all the same.
func TestGroupsThatFailAreCounted(t *testing.T) {
	c := microRL(t)
	text := rows(2, "what") + `{"input": "panic now?", "label": "1"}` + "\n"
	c.Agent.Name, c.Data.Prompts, c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = "faulty", []string{write(t, t.TempDir(), "some.jsonl", text)}, nil, 0, false
	c.Rollout.BatchSize = 2
	runRL(t, c)
	dropped := 0
	for _, e := range metrics.Of[metrics.StepDone](eventsOf(t, c)) {
		dropped += e.Dropped[string(traj.Harness)]
		if e.Outcomes[string(traj.Harness)] != 0 || e.Dropped[string(traj.Completed)] != 0 {
			t.Errorf("step %d: outcomes %v, dropped %v", e.Step, e.Outcomes, e.Dropped)
		}
	}
	// Four batches of two are the first eight groups that are not dropped: every third prompt is, so four of twelve.
	if want := 4 * c.Rollout.Samples; dropped < want-c.Rollout.Samples || dropped > want {
		t.Errorf("%d rollouts dropped; want about %d", dropped, want)
	}
	if names := alarms(t, c.Ckpt.Path); !slices.Contains(names, "failed-rollouts") {
		t.Errorf("raised %q", names)
	}
}

// TestEveryRolloutFails: nothing can be trained, so the run stops by itself, says why, and exports nothing.
func TestEveryRolloutFails(t *testing.T) {
	for word, outcome := range map[string]traj.Outcome{"panic": traj.Harness, "error": traj.Harness, "nan": traj.Grader, "hang": traj.Timeout, "sandbox": traj.Infrastructure} {
		t.Run(word, func(t *testing.T) {
			c := microRL(t)
			c.Agent.Name, c.Data.Prompts, c.Eval.AtStart = "faulty", rowsOf(t, 9, word), false
			c.Agent.StepTimeout, c.Rollout.Retries, c.Algo.Budget = 0.02, 0, 4
			c.Rollout.Samples = 2
			_, err := RL(t.Context(), c, recipe.Settings(c), leg.View{Command: "again"})
			wantProblem(t, err, problem.Alarm, "incomplete_group")
			if names := alarms(t, c.Ckpt.Path); !slices.Contains(names, "run-stopped") || !slices.Contains(names, "nothing-graded") {
				t.Errorf("raised %q", names)
			}
			ended, _ := metrics.Last[metrics.RunEnded](eventsOf(t, c))
			if ended.Outcome != "failed" || ended.Resume != "again" {
				t.Errorf("ended as %+v", ended)
			}
			for _, name := range []string{folder.BestDir, folder.LastDir, folder.ResultFile} {
				if _, err := os.Stat(filepath.Join(c.Ckpt.Path, name)); err == nil {
					t.Errorf("%s was written", name)
				}
			}
			e := *c
			e.Eval.Dataset = c.Data.Prompts
			_, err = Eval(t.Context(), &e, leg.View{})
			wantProblem(t, err, problem.Alarm, "no rollout could be graded")
			wantProblem(t, err, problem.Alarm, string(outcome))
		})
	}
}

// TestHopelessRunsEnd: long before the budget is spent, and with the reason of the first failure.
func TestHopelessRunsEnd(t *testing.T) {
	c := microRL(t)
	c.Agent.Name, c.Data.Prompts, c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = "faulty", rowsOf(t, 200, "panic"), nil, 0, false
	c.Rollout.Samples, c.Train.BatchSize = 2, 0
	_, err := RL(t.Context(), c, recipe.Settings(c), leg.View{Command: "again"})
	wantProblem(t, err, problem.Alarm, "no rollout of the last 32 prompts could be graded")
	wantProblem(t, err, problem.Alarm, "ended as harness: Step of turn 0: panic")
}

// TestTheLastPromptsRunOut: a run by episodes has no last step to evaluate at; it evaluates when the prompts are used up.
func TestTheLastPromptsRunOut(t *testing.T) {
	c := microRL(t)
	c.Train.Steps, c.Train.Episodes, c.Eval.Steps, c.Eval.AtStart = 0, 2, 0, false
	result := runRL(t, c)
	e, ok := metrics.Last[metrics.EvalDone](eventsOf(t, c))
	if !ok || e.Step != 6 || result.BestStep != 6 || result.Steps != 6 {
		t.Errorf("evaluated %v after step %d; result %+v; want step 6 of 9 prompts twice in batches of 3", ok, e.Step, result)
	}
}

// TestFailedEvaluationPicksNoBest: a score of nothing is no score.
func TestFailedEvaluationPicksNoBest(t *testing.T) {
	c := microRL(t)
	c.Agent.Name, c.Eval.Dataset = "faulty", rowsOf(t, 3, "panic")
	result := runRL(t, c)
	if result.BestStep != 0 || result.Best != 0 {
		t.Errorf("best %v at step %d", result.Best, result.BestStep)
	}
	if names := alarms(t, c.Ckpt.Path); !slices.Contains(names, "failed-evaluation") {
		t.Errorf("raised %q", names)
	}
	if string(read(t, filepath.Join(c.Ckpt.Path, folder.BestDir, "model.safetensors"))) != string(read(t, filepath.Join(c.Ckpt.Path, folder.LastDir, "model.safetensors"))) {
		t.Error("without a score the best weights are the last ones")
	}
	if want := "not measured: best holds the last weights, as last does"; !strings.Contains(result.String(), want) {
		t.Errorf("said %q; want %s", result, want)
	}
}

// TestHangingEnvironmentsDoNotHoldTheRun: they are left behind, up to a number that stops the run.
func TestHangingEnvironmentsDoNotHoldTheRun(t *testing.T) {
	c := microRL(t)
	text := rows(6, "what") + `{"input": "hang here?", "label": "1"}` + "\n"
	c.Agent.Name, c.Data.Prompts, c.Agent.StepTimeout, c.Rollout.Retries = "faulty", []string{write(t, t.TempDir(), "some.jsonl", text)}, 0.05, 0
	c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = nil, 0, false
	begun := time.Now()
	runRL(t, c)
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
}

// liar is a generator whose log-probs of one sample of each group are off by the smallest amount.
type liar struct{ generator }

func (g liar) Generate(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
	reply, err := g.generator.Generate(ctx, r, emit)
	if r.Key.Sample == 1 {
		for i := range reply.Tokens {
			reply.Tokens[i].Logp = math.Nextafter32(reply.Tokens[i].Logp, -10)
		}
	}
	return reply, err
}

// late is a generator that is off as soon as it serves trained weights.
type late struct{ generator }

func (g late) Generate(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
	reply, err := g.generator.Generate(ctx, r, emit)
	for i := range reply.Tokens {
		if t := &reply.Tokens[i]; t.Version > 0 {
			t.Logp = math.Nextafter32(t.Logp, -10)
		}
	}
	return reply, err
}

// TestDisagreementIsSeenOneStepAhead: there no token of trained weights is trained on by the weights that sampled it, so the
// run asks for some that are compared.
func TestDisagreementIsSeenOneStepAhead(t *testing.T) {
	c := microRL(t)
	c.Train.Mode, c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = "one_step_ahead", nil, 0, false
	lying := func(p *rlPlan) (*engines, error) {
		e, err := embedded(p)
		e.generator = late{e.generator}
		return e, err
	}
	_, err := rlWith(t.Context(), lying, c, recipe.Settings(c), leg.View{Command: "again"})
	wantProblem(t, err, problem.Alarm, "probe token 0: the generator reported")
}

// TestDisagreementStopsTheRun: generator and learner must hold the same policy to the last bit.
func TestDisagreementStopsTheRun(t *testing.T) {
	c := microRL(t)
	c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = nil, 0, false
	lying := func(p *rlPlan) (*engines, error) {
		e, err := embedded(p)
		e.generator = liar{e.generator}
		return e, err
	}
	_, err := rlWith(t.Context(), lying, c, recipe.Settings(c), leg.View{Command: "again"})
	wantProblem(t, err, problem.Alarm, "they do not serve the same policy")
	wantProblem(t, err, problem.Alarm, " sample 1 ")
	if names := alarms(t, c.Ckpt.Path); !slices.Contains(names, "run-stopped") {
		t.Errorf("raised %q", names)
	}
	runRL(t, c)
	clean := microRL(t)
	clean.Eval.Dataset, clean.Eval.Steps, clean.Eval.AtStart = nil, 0, false
	runRL(t, clean)
	tracesOf(t, c.Ckpt.Path, folder.LastDir).same(t, tracesOf(t, clean.Ckpt.Path, folder.LastDir))
}

// diverged makes a model whose weights are finite and whose logits are not.
func diverged(t *testing.T) string {
	t.Helper()
	dir := copyModel(t)
	forgetManifest(t, dir)
	data := read(t, filepath.Join(dir, "model.safetensors"))
	huge := binary.LittleEndian.AppendUint32(nil, math.Float32bits(3e38))
	for at := len(data) - 4*64; at < len(data); at += 4 {
		copy(data[at:], huge)
	}
	write(t, dir, "model.safetensors", string(data))
	return dir
}

// TestDivergedWeightsEndTheRun: logits that are no numbers are nobody's bad luck, so nothing is tried again.
func TestDivergedWeightsEndTheRun(t *testing.T) {
	c := microRL(t)
	c.Model.Path, c.Rollout.Retries, c.Eval.AtStart = diverged(t), 15, false
	_, err := RL(t.Context(), c, recipe.Settings(c), leg.View{})
	wantProblem(t, err, problem.Alarm, c.Ckpt.Path+": the engine cannot sample")
	wantProblem(t, err, problem.Alarm, "are not finite")
	if names := alarms(t, c.Ckpt.Path); !slices.Equal(names, []string{"run-stopped"}) {
		t.Errorf("raised %q", names)
	}
	for _, n := range metrics.Of[metrics.Note](eventsOf(t, c)) {
		t.Errorf("noted %q", n.Text)
	}
	c.Eval.AtStart, c.Ckpt.Path = true, t.TempDir()
	_, err = RL(t.Context(), c, recipe.Settings(c), leg.View{})
	wantProblem(t, err, problem.Alarm, "the engine cannot sample")
	_, err = Eval(t.Context(), c, leg.View{})
	wantProblem(t, err, problem.Alarm, c.Model.Path+": the engine cannot sample")
}

// flaky loses its sandbox the first time that a prompt is tried, and never again.
type flaky struct {
	vowels
	mu   *sync.Mutex
	seen map[string]bool
}

func (e *flaky) Reset(ctx context.Context, task agent.Task) (agent.Start, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.seen[task.ID+task.Source] {
		e.seen[task.ID+task.Source] = true
		return agent.Start{}, errSandbox
	}
	return e.vowels.Reset(ctx, task)
}

// TestRetriesChangeNothing: a rollout that is tried again draws the same tokens, so lost sandboxes leave no trace in the weights.
func TestRetriesChangeNothing(t *testing.T) {
	c := microRL(t)
	whole := *c
	whole.Ckpt.Path = t.TempDir()
	runRL(t, &whole)
	mu, seen := new(sync.Mutex), map[string]bool{}
	environments["flaky"] = func() agent.Env { return &flaky{mu: mu, seen: seen} }
	c.Agent.Name = "flaky"
	runRL(t, c)
	if len(seen) < 9 {
		t.Errorf("only %d prompts were tried", len(seen))
	}
	got, want := tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir), tracesOf(t, whole.Ckpt.Path, folder.BestDir, folder.LastDir)
	got.State, want.State = nil, nil // it counts what was tried again
	got.same(t, want)
	retried := 0
	for _, n := range metrics.Of[metrics.Note](eventsOf(t, c)) {
		if strings.Contains(n.Text, "ended as infrastructure and is tried again") {
			retried++
		}
	}
	if retried < len(seen) {
		t.Errorf("%d notes about %d prompts that were tried again", retried, len(seen))
	}
}
