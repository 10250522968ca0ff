// What a run of reinforcement learning says about itself while it goes on.

package run

import (
	"context"
	"fmt"
	"math"
	"os"
	"sync"

	"molt/internal/spell"
	"molt/metrics"
	"molt/rollout"
	"molt/rollout/sched"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/machine"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/train"
	"molt/traj"
)

// started is the first event of a leg.
func (p *rlPlan) started(f *folder.Folder, view leg.View, saved progress) metrics.RunStarted {
	config, _ := os.ReadFile(f.File(folder.ConfigFile)) // written by OpenFolder; a report without it is still a report
	return metrics.RunStarted{
		Name: f.Path, Method: p.cfg.Algo.Advantage.Estimator, Command: view.Command, ConfigDigest: f.Digest(), Config: string(config), Seed: p.cfg.Train.Seed,
		Model:   metrics.Model{Name: p.model.Path, Params: int64(p.shape.ParamCount()), Vocab: p.shape.Vocab, Context: p.shape.MaxPositions, Fingerprint: p.model.Weights.Fingerprint},
		Machine: machine.Here(p.cfg.Engine.Threads), Build: machine.Build(),
		Plan:        metrics.Plan{Steps: p.steps, Groups: p.cfg.Rollout.BatchSize, Samples: p.cfg.Rollout.Samples},
		ResumedFrom: saved.From,
	}
}

// report tells about one step: its event, the rollouts worth keeping, and what looks wrong.
func (r *rlRun) report(step int64, batch sched.Batch, trained *train.Result, dropped map[string]int) {
	e := stepEvent(step, batch, trained, r.clock)
	e.Dropped = dropped
	if version, fingerprint := r.engines.generator.Serving(); version == trained.Version {
		e.Fingerprint = fingerprint
	}
	e.GeneratedPerSec = r.sampling.Rate()
	r.saved.Totals.Generated += e.Generated
	r.saved.Totals.Trained += int64(trained.Tokens)
	r.saved.Totals.Seconds += r.clock.Total()
	r.log.Emit(e)
	left := 0
	if r.cfg.Train.Steps > 0 {
		left = r.cfg.Train.Steps - int(step) + 1
	}
	r.keeper.Keep(step, metrics.Train, left, r.candidates(step, metrics.Train, batch.Groups, trained))
	for _, g := range batch.Groups {
		r.recorder.forget(g.ID, len(g.Rollouts))
	}
	r.alarms(step, batch, trained, dropped)
}

func stepEvent(step int64, batch sched.Batch, trained *train.Result, clock *leg.Clock) metrics.StepDone {
	e := metrics.StepDone{
		Step: step, Version: int64(trained.Version), Groups: len(batch.Groups), Outcomes: map[string]int{},
		Loss: trained.Loss.Loss, GradNorm: trained.Steps.GradNorm, Skipped: trained.Steps.Skipped+trained.Critic.Steps.Skipped > 0, LearningRate: trained.Steps.LR,
		Mismatch: &metrics.Divergence{K1: trained.Mismatch.MeanKL1(), K3: trained.Mismatch.MeanKL3(), Max: trained.Mismatch.Worst},
		ESS:      new(trained.Mismatch.EffectiveShare()),
		Trained:  int64(trained.Loss.Tokens), Seconds: clock.Seconds, WallSeconds: clock.Total(),
	}
	if l := &trained.Loss; l.Tokens > 0 && (trained.Steps.Updates > 1 || l.RatioMin != 1 || l.RatioMax != 1) { // else no update came between, and both are 0 whatever it did
		e.Ratio = &metrics.Divergence{K1: l.MeanKL1(), K3: l.MeanKL3(), Max: math.Log(max(l.RatioMax, 1))}
		e.ClipFraction = new(l.Clipped())
	}
	if trained.Reference.Tokens > 0 {
		e.Reference = &metrics.Divergence{K1: trained.Reference.Mean(), K3: trained.Reference.Mean()}
		e.KLCoef = &trained.KLCoef
	}
	e.Critic = criticEvent(trained)
	if trained.Entropy > 0 {
		e.Entropy = &trained.Entropy
	}
	moved := map[*traj.Group]bool{} // groups with a gradient: a critic or an entropy bonus gives flat ones one, too
	for _, s := range trained.Segments {
		moved[s.Group] = moved[s.Group] || s.LogpNew != nil
	}
	var rewards, turns, tokens, lags []float64
	for _, g := range batch.Groups {
		if flat(g) && !moved[g] {
			e.Filtered = count(e.Filtered, "flat")
		}
		for _, roll := range g.Rollouts {
			e.Outcomes[string(roll.Outcome)]++
			e.Generated += int64(roll.Sampled())
			if !roll.Outcome.Graded() {
				continue
			}
			rewards = append(rewards, roll.Reward)
			turns = append(turns, float64(roll.Turns()))
			tokens = append(tokens, float64(roll.Sampled()))
			lags = append(lags, float64(roll.Lag(trained.Before)))
		}
	}
	e.Reward, e.Turns, e.ActionTokens, e.Lag = metrics.Describe(rewards), metrics.Describe(turns), metrics.Describe(tokens), metrics.Describe(lags)
	e.TrainedPerSec = clock.Rate(trained.Tokens, "train")
	busy := clock.Seconds["generate"] + clock.Seconds["train"] + clock.Seconds["evaluate"]
	e.Idle = max(0, 1-busy/max(e.WallSeconds, 1e-9))
	return e
}

// criticEvent is nil where there is no critic.
func criticEvent(trained *train.Result) *metrics.Critic {
	c := &trained.Critic
	if c.Foresaw.Tokens == 0 {
		return nil
	}
	return &metrics.Critic{
		Loss: c.Loss.Mean(), Explained: c.Foresaw.Explained(), ClipFraction: c.Loss.Clipped(),
		GradNorm: c.Steps.GradNorm, LearningRate: c.Steps.LR, Alone: trained.Frozen,
	}
}

func count(m map[string]int, key string) map[string]int {
	if m == nil {
		m = map[string]int{}
	}
	m[key]++
	return m
}

// flat reports whether all graded rollouts of a group earned the same.
func flat(g *traj.Group) bool {
	graded := g.Graded()
	for _, r := range graded {
		if r.Reward != graded[0].Reward {
			return false
		}
	}
	return len(graded) > 0
}

// alarms names what a healthy run does not show.
func (r *rlRun) alarms(step int64, batch sched.Batch, trained *train.Result, dropped map[string]int) {
	raise := func(name, sentence, fix string) {
		if again, tell := r.saved.Raised.Count(name); tell {
			r.log.Emit(metrics.Alarm{Name: name, Severity: metrics.Warning, Step: step, Sentence: sentence + again, Fix: fix})
		}
	}
	if turns, free := sampled(batch); turns > 0 && free == 0 {
		raise("turns-untrained", fmt.Sprintf("step %d: none of %d turns trains: the agent asks for formats, calls or sampling that make them no free sample of the policy", step, turns),
			"docs/agents.md says which requests train; --agent.capture.sampling keep samples as the run says, and leaves strict out")
	}
	if trained.Steps.Updates == 0 && trained.Steps.Skipped == 0 && !trained.Frozen {
		raise("no-gradient", fmt.Sprintf("step %d: no token had a gradient, so the weights did not change", step), "if it stays so: the prompts are all solved, or all hopeless; look at the rewards")
	}
	if n := trained.Steps.Skipped + trained.Critic.Steps.Skipped; n > 0 {
		raise("step-skipped", fmt.Sprintf("step %d: %d optimizer steps had a gradient norm that is no number and were skipped", step, n), "lower the learning rate")
	}
	if n := trained.NonFinite(); n > 0 {
		raise("non-finite-tokens", fmt.Sprintf("step %d: %d tokens had numbers that are not finite and were left out", step, n), "look at the rollouts of this step")
	}
	if batch.Short != "" && batch.Short != sched.UsedUp {
		raise("short-batch", fmt.Sprintf("step %d: the batch has only %d groups: %s", step, len(batch.Groups), batch.Short), "loosen the filter, or add prompts")
	}
	if failed := failed(failures(batch), dropped); failed > 0 {
		raise("failed-rollouts", fmt.Sprintf("step %d: %d rollouts failed through no fault of the policy and were left out", step, failed), "look at their outcomes and details with molt show")
	}
	if why := r.agent.Unparsed(); why != "" && !r.unparsed {
		r.unparsed = true
		raise("tools-never-parsed", why, "the model may use another call syntax than the one that is parsed")
	}
}

// sampled counts the turns of a batch, and those that are free samples of the policy.
func sampled(batch sched.Batch) (turns, free int) {
	for _, g := range batch.Groups {
		for _, r := range g.Rollouts {
			for i := range r.Nodes {
				if n := &r.Nodes[i]; len(n.Sampled) > 0 {
					turns++
					free += one(!n.Constrained)
				}
			}
		}
	}
	return turns, free
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// failures counts the rollouts of the batch that were not graded, by outcome.
func failures(batch sched.Batch) map[string]int {
	n := map[string]int{}
	for _, g := range batch.Groups {
		for _, r := range g.Rollouts {
			if !r.Outcome.Graded() {
				n[string(r.Outcome)]++
			}
		}
	}
	return n
}

// failed adds up what was not graded. Other reasons than an outcome concern rollouts that were.
func failed(counts ...map[string]int) int {
	n := 0
	for _, c := range counts {
		for _, o := range traj.Outcomes {
			if !o.Graded() {
				n += c[string(o)]
			}
		}
	}
	return n
}

// note tells about an attempt that will be tried again.
func (r *rlRun) note(t *traj.Rollout) {
	r.log.Emit(metrics.Note{Text: fmt.Sprintf("group %d sample %d ended as %s and is tried again: %s", t.Group, t.Sample, t.Outcome, t.Detail)})
}

// dropped tells about a group that will not train.
func (r *rlRun) dropped(g *traj.Group) {
	r.recorder.forget(g.ID, len(g.Rollouts))
	if g.Filtered == string(traj.Cancelled) {
		return
	}
	why := failureOf(g)
	text := fmt.Sprintf("group %d (prompt %s) does not train: %s", g.ID, g.Prompt, g.Filtered)
	tell := true
	if why != "" {
		var again string
		again, tell = r.alike.count(why)
		text += "; the first that failed " + why + again
	}
	if tell {
		r.log.Emit(metrics.Note{Text: text})
	}
	if why == "" || len(g.Graded()) > 0 {
		return
	}
	lost := r.lost.Add(1)
	if hopeless := max(int64(leastHopeless), 2*int64(r.cfg.Rollout.BatchSize)); lost == hopeless {
		r.fail(&problem.Problem{
			Code: problem.Alarm, Where: r.folder.Path, What: fmt.Sprintf("no rollout of the last %d prompts could be graded", lost),
			Why: "the first of the newest " + why, Fix: "mend the agent or its grader; `molt eval --eval.max_samples 1` tries it on one prompt",
		})
	}
	if lost == int64(r.cfg.Rollout.BatchSize) {
		r.log.Emit(metrics.Alarm{
			Name: "nothing-graded", Severity: metrics.Warning, Step: r.saved.Step,
			Sentence: fmt.Sprintf("no rollout of the last %d prompts could be graded; the first of the newest %s", r.cfg.Rollout.BatchSize, why),
			Fix:      "stop the run and mend the agent or its grader; else it goes through all prompts like this",
		})
	}
}

// alike counts groups by how the first of their failures ended.
type alike struct {
	mu sync.Mutex
	n  map[string]int // guarded by mu
}

// mostAlike bounds the endings that are told apart: a counter in each would make every one new.
const mostAlike = 1000

// count says whether one more of a kind is worth telling, and what to add.
func (a *alike) count(why string) (again string, tell bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n == nil || len(a.n) == mostAlike {
		a.n = map[string]int{}
	}
	a.n[why]++
	if a.n[why] > 1 {
		again = fmt.Sprintf("; so it was in %d groups", a.n[why])
	}
	return again, leg.Telling(a.n[why])
}

// leastHopeless is how many prompts in a row must go by without a graded rollout before a run ends itself, however small its
// batches are.
const leastHopeless = 32

// failureOf says how the first rollout that was not graded ended; "" when all were.
func failureOf(g *traj.Group) string {
	for _, t := range g.Rollouts {
		if t != nil && !t.Outcome.Graded() {
			return fmt.Sprintf("ended as %s: %s", t.Outcome, metrics.Clean(spell.Cut(t.Detail, 300)))
		}
	}
	return ""
}

// evaluate tries the held-out prompts with the weights that serve now, and remembers the best.
func (r *rlRun) evaluate(ctx context.Context) error {
	clock := leg.NewClock()
	e, err := r.driver.Evaluate(ctx, r.heldOut, r.cfg.Eval.Samples)
	if err != nil {
		return err
	}
	r.clock.Lap("evaluate")
	r.sampling.Also(e.Groups)
	event := evalEvent(r.saved.Step, e, r.cfg, clock)
	r.log.Emit(event)
	r.keeper.Keep(r.saved.Step, metrics.HeldOut, 0, r.candidates(r.saved.Step, metrics.HeldOut, e.Groups, nil))
	for _, g := range e.Groups {
		r.recorder.forget(g.ID, len(g.Rollouts))
	}
	if e.Failed() > 0 {
		r.log.Emit(metrics.Alarm{
			Name: "failed-evaluation", Severity: metrics.Warning, Step: r.saved.Step,
			Sentence: fmt.Sprintf("step %d: %.1f %% of the held-out rollouts failed through no fault of the policy and are in no score", r.saved.Step, 100*e.Failed()),
			Fix:      "look at their outcomes and details with molt show",
		})
	}
	score, tasks := e.PassAt(r.bestOf())
	if tasks == 0 {
		return nil // a score of nothing is no score
	}
	r.saved.Last = &best{Step: r.saved.Step, Score: score}
	r.saved.Scored = append(r.saved.Scored, *r.saved.Last)
	if r.saved.First == nil {
		r.saved.First = r.saved.Last
	}
	if r.saved.Best == nil || score > r.saved.Best.Score {
		r.saved.Best = &best{Step: r.saved.Step, Score: score}
	}
	return nil
}

// bestOf is the k of the pass@k that picks the best weights.
func (r *rlRun) bestOf() int {
	if r.cfg.Ckpt.BestKey == "passk" {
		return r.cfg.Eval.Samples
	}
	return 1
}

// evalEvent describes an evaluation, counted by rollout.
func evalEvent(step int64, e *rollout.Evaluation, cfg *recipe.Config, clock *leg.Clock) metrics.EvalDone {
	clock.Lap("evaluate")
	out := metrics.EvalDone{
		Step: step, Version: int64(e.Version), Name: "held_out", Temperature: cfg.Eval.Temperature, Samples: cfg.Eval.Samples,
		Outcomes: map[string]int{}, WallSeconds: clock.Total(),
	}
	out.PassAt1, _ = e.PassAt(1)
	out.PassAtK, _ = e.PassAt(cfg.Eval.Samples)
	var turns, tokens []float64
	sources := map[string]bool{}
	for _, g := range e.Groups {
		sources[g.Source] = true
		for _, r := range g.Rollouts {
			out.Outcomes[string(r.Outcome)]++
			if r.Outcome.Graded() {
				out.N++
				turns = append(turns, float64(r.Turns()))
				tokens = append(tokens, float64(r.Sampled()))
			}
		}
	}
	out.Turns, out.ActionTokens = metrics.Describe(turns), metrics.Describe(tokens)
	if len(sources) > 1 {
		out.Sources = map[string]metrics.EvalSource{}
		for name := range sources {
			part := e.Of(name)
			s := metrics.EvalSource{N: part.Rollouts()}
			s.PassAt1, _ = part.PassAt(1)
			s.PassAtK, _ = part.PassAt(cfg.Eval.Samples)
			out.Sources[name] = s
		}
	}
	return out
}
