package run

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/engine"
	"molt/metrics"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/weights"
)

// TestKilledLoRA: a run that trains an adapter, with a critic on the same trunk, is resumed bit for bit.
func TestKilledLoRA(t *testing.T) {
	slow(t)
	c := microRL(t)
	withCritic(c)
	withLoRA(c)
	c.Critic.Shared = true
	killRL(t, c)
}

// TestKilledSFTWithLoRA: the same of fine-tuning, which leaves a merged model.
func TestKilledSFTWithLoRA(t *testing.T) {
	slow(t)
	c := microSFT(t)
	c.Model.LoRA.Rank, c.Model.Adam.LR = 4, 0.05
	killSFT(t, c)
}

// TestAdapterOfARun follows an adapter: trained and exported; put on its base again it is the model that an equal run
// merges, in an evaluation as well; trained on from there.
func TestAdapterOfARun(t *testing.T) {
	c := microRL(t)
	withLoRA(c)
	c.Actor.LoRA.Targets = []string{"q_proj", "up_proj"}
	merged := *c
	merged.Ckpt.Path = t.TempDir()
	runRL(t, &merged)
	c.Actor.LoRA.Export = "adapter"
	r := runRL(t, c)
	if r.Base != c.Model.Path || !strings.Contains(r.String(), "adapter") {
		t.Errorf("the result does not say what the adapter is for: %+v", r)
	}

	adapter, out := filepath.Join(c.Ckpt.Path, folder.LastDir), filepath.Join(t.TempDir(), "merged")
	info, err := models.MergeAdapter(c.Model.Path, adapter, out)
	if err != nil {
		t.Fatal(err)
	}
	if made, err := models.Describe(filepath.Join(merged.Ckpt.Path, folder.LastDir), ""); err != nil || made.Fingerprint != info.Fingerprint || made.Steps != info.Steps {
		t.Errorf("the adapter on its base is %q, after %d steps; the run merges %q, %d, %v", info.Fingerprint, info.Steps, made.Fingerprint, made.Steps, err)
	}
	with, one := microRL(t), microRL(t)
	with.Model.Path, with.Model.Adapter, one.Model.Path = c.Model.Path, adapter, out
	var results []*EvalResult
	for _, c := range []*recipe.Config{with, one} {
		e, err := Eval(t.Context(), c, leg.View{})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, e)
	}
	if a, b := results[0], results[1]; a.Score != b.Score || a.Sampled != b.Sampled || a.Fingerprint == b.Fingerprint {
		t.Errorf("evaluated as %+v with the adapter, as %+v merged; want other fingerprints and the same tokens", a, b)
	}

	on := microRL(t)
	withLoRA(on)
	on.Model.Path, on.Model.Adapter, on.Actor.LoRA.RSLoRA, on.Actor.LoRA.Export = c.Model.Path, adapter, false, "adapter"
	runRL(t, on)
	folders, err := weights.ReadFolder(c.Model.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer folders.Close()
	first, err := weights.ReadAdapter(adapter, folders.Config.Tensors())
	if err != nil {
		t.Fatal(err)
	}
	second, err := weights.ReadAdapter(filepath.Join(on.Ckpt.Path, folder.LastDir), folders.Config.Tensors())
	if err != nil {
		t.Fatal(err)
	}
	if first.Base != second.Base || !second.RSLoRA || second.Alpha != first.Alpha || len(second.Tensors) != len(first.Tensors) || first.Fingerprint("") == second.Fingerprint("") {
		t.Errorf("went on from rank %d, alpha %g on %d factors to %d, %g on %d", first.Rank, first.Alpha, len(first.Tensors), second.Rank, second.Alpha, len(second.Tensors))
	}
}

// TestAdapterBecomesWeights: where the weights are trained, the adapter that the model comes with is a part of them.
func TestAdapterBecomesWeights(t *testing.T) {
	c := microRL(t)
	withLoRA(c)
	c.Actor.LoRA.Export = "adapter"
	runRL(t, c)
	adapter := filepath.Join(c.Ckpt.Path, folder.LastDir)
	out := filepath.Join(t.TempDir(), "merged")
	if _, err := models.MergeAdapter(c.Model.Path, adapter, out); err != nil {
		t.Fatal(err)
	}
	with, one := microRL(t), microRL(t)
	with.Model.Path, with.Model.Adapter, one.Model.Path = c.Model.Path, adapter, out
	runRL(t, with)
	runRL(t, one)
	tracesOf(t, with.Ckpt.Path, folder.LastDir).same(t, tracesOf(t, one.Ckpt.Path, folder.LastDir))
}

func TestSFTWithLoRA(t *testing.T) {
	c := microSFT(t)
	c.Model.LoRA.Rank, c.Model.LoRA.Export, c.Model.Adam.LR = 4, "adapter", 0.05
	whole := *c
	whole.Ckpt.Path = t.TempDir()
	r := runSFT(t, c)
	if r.Base != c.Model.Path {
		t.Errorf("the result does not say what the adapter is for: %+v", r)
	}
	records, err := metrics.Salvage(filepath.Join(c.Ckpt.Path, folder.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	var losses []float64
	for _, e := range metrics.Of[metrics.SFTStep](records) {
		losses = append(losses, e.Loss)
	}
	if first, last := losses[0], losses[len(losses)-1]; !(last < 0.95*first) {
		t.Errorf("the loss went from %v to %v", first, last)
	}
	whole.Model.LoRA.Export = "merged"
	runSFT(t, &whole)
	m, err := models.Open(whole.Model.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Adapt(r.Checkpoint); err != nil {
		t.Fatal(err)
	}
	m.Merge()
	made, err := models.Open(filepath.Join(whole.Ckpt.Path, folder.FinalDir))
	if err != nil {
		t.Fatal(err)
	}
	if m.Weights.Fingerprint != made.Weights.Fingerprint {
		t.Errorf("the adapter on its base is %q; merged %q", m.Weights.Fingerprint, made.Weights.Fingerprint)
	}
}

// forgetful serves the base of what is published and says otherwise, as an engine does that never loaded the adapter.
type forgetful struct {
	generator
	claimed *engine.Weights
}

func (g forgetful) Publish(ctx context.Context, w engine.Weights) error {
	*g.claimed = w
	w.Adapter, w.Fingerprint = nil, w.Adapter.Base
	return g.generator.Publish(ctx, w)
}

func (g forgetful) Generate(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
	reply, err := g.generator.Generate(ctx, r, emit)
	reply.Fingerprint = g.claimed.Fingerprint
	return reply, err
}

// TestAnAdapterThatIsNotServedStopsTheRun: training the adapter on what the base sampled would look healthy.
func TestAnAdapterThatIsNotServedStopsTheRun(t *testing.T) {
	c := microRL(t)
	withLoRA(c)
	c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = nil, 0, false
	start := func(p *rlPlan) (*engines, error) {
		e, err := embedded(p)
		e.generator = forgetful{e.generator, new(engine.Weights)}
		return e, err
	}
	_, err := rlWith(t.Context(), start, c, recipe.Settings(c), leg.View{Command: "again"})
	wantProblem(t, err, problem.Alarm, "they do not serve the same policy")
}

// deaf goes on with the weights that it has, under the version that was published.
type deaf struct {
	generator
	weights engine.Weights
}

func (g deaf) Publish(ctx context.Context, w engine.Weights) error {
	g.weights.Version, g.weights.Parent = w.Version, w.Parent
	return g.generator.Publish(ctx, g.weights)
}

// TestRepliesAreProved: weights that never arrived are noticed by what the engine says of its replies, with or without an adapter.
func TestRepliesAreProved(t *testing.T) {
	for name, change := range map[string]func(*recipe.Config){"weights": func(*recipe.Config) {}, "adapter": withLoRA} {
		c := microRL(t)
		change(c)
		c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = nil, 0, false
		start := func(p *rlPlan) (*engines, error) {
			first := p.model.Weights // engines let go of the model's own copy
			first.Tensors = slices.Clone(first.Tensors)
			e, err := embedded(p)
			e.generator = proving(deaf{e.generator.(*proved).generator, first}, first)
			return e, err
		}
		_, err := rlWith(t.Context(), start, c, recipe.Settings(c), leg.View{Command: "again"})
		wantProblem(t, err, problem.Alarm, "sampled a token; published was ")
		if t.Failed() {
			t.Log(name)
		}
	}
}

// TestFingerprintsOfARun: every step says which weights it made, no two the same, and the last are those of the exported model.
func TestFingerprintsOfARun(t *testing.T) {
	c := microRL(t)
	runRL(t, c)
	seen, last := map[string]bool{}, ""
	for _, s := range stepsOf(t, c) {
		seen[s.Fingerprint], last = true, s.Fingerprint
	}
	m, err := models.Open(filepath.Join(c.Ckpt.Path, folder.LastDir))
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != c.Train.Steps || last != m.Weights.Fingerprint {
		t.Errorf("%d fingerprints of %d steps, the last %q; the exported model has %q", len(seen), c.Train.Steps, last, m.Weights.Fingerprint)
	}
}

// TestLoRARefused names what has no effect, or no meaning, beside an adapter or a shared critic.
func TestLoRARefused(t *testing.T) {
	for where, change := range map[string]func(*recipe.Config){
		"actor.lora.alpha":          func(c *recipe.Config) { c.Actor.LoRA.Alpha = 8 },
		"actor.lora.export":         func(c *recipe.Config) { c.Actor.LoRA.Export = "adapter" },
		"actor.lora.rank":           func(c *recipe.Config) { c.Actor.LoRA.Rank = 1 << 16 },
		"actor.lora.dropout":        func(c *recipe.Config) { withLoRA(c); c.Actor.LoRA.Dropout = 0.1 },
		"actor.optim":               func(c *recipe.Config) { withLoRA(c); c.Actor.Optim = "muon" },
		"actor.freeze_params":       func(c *recipe.Config) { withLoRA(c); c.Actor.Freeze = []string{"model.embed_tokens.*"} },
		"actor.lora.target_modules": func(c *recipe.Config) { withLoRA(c); c.Actor.LoRA.Targets = []string{"lm_head"} },
		"critic.shared":             func(c *recipe.Config) { c.Critic.Shared = true },
		"critic.optim":              func(c *recipe.Config) { withCritic(c); c.Critic.Shared, c.Critic.Optim = true, "muon" },
		"critic.model_name_or_path": func(c *recipe.Config) { withCritic(c); c.Critic.Shared, c.Critic.Path = true, c.Model.Path },
		"critic.max_epochs":         func(c *recipe.Config) { withCritic(c); c.Critic.Shared, c.Actor.Freezing = true, 0 },
	} {
		c := microRL(t)
		change(c)
		if _, err := preflight(t.Context(), c); problemAt(err, where) == nil {
			t.Errorf("%s: got %v", where, err)
		}
	}
	c := microRL(t)
	c.Model.Adapter = c.Model.Path
	_, err := preflight(t.Context(), c)
	wantProblem(t, err, problem.Model, "this is not a PEFT folder")
	trained := microRL(t)
	withLoRA(trained)
	trained.Actor.LoRA.Export = "adapter"
	adapter := runRL(t, trained).Checkpoint
	other := microRL(t)
	other.Model.Path, other.Model.Adapter = teacher(t), adapter
	_, err = preflight(t.Context(), other)
	wantProblem(t, err, problem.Model, "the adapter belongs to another model")
	rank := microRL(t)
	withLoRA(rank)
	rank.Model.Path, rank.Model.Adapter, rank.Actor.LoRA.Rank = trained.Model.Path, adapter, 7
	_, err = preflight(t.Context(), rank)
	wantProblem(t, err, problem.Combined, "actor.lora.rank")
	nothing := microRL(t)
	nothing.Model.Path = adapter
	_, err = preflight(t.Context(), nothing)
	wantProblem(t, err, problem.Model, "molt model merge BASE")
}

// TestPlanOfLoRA: --dry-run counts what is trained and stored.
func TestPlanOfLoRA(t *testing.T) {
	c := microRL(t)
	whole, err := PlanRL(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	withLoRA(c)
	c.Actor.LoRA.Targets = []string{"q_proj"}
	c.Actor.LoRA.Export = "adapter"
	plan, err := PlanRL(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	m, err := models.Open(c.Model.Path)
	if err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	for _, s := range m.Config.Tensors() {
		if strings.HasSuffix(s.Name, "q_proj.weight") {
			want += 4 * int64(s.Shape[0]+s.Shape[1])
		}
	}
	if plan.Trained != want || whole.Trained != whole.Parameters || plan.Parameters != whole.Parameters {
		t.Errorf("trains %d of %d; want %d of %d", plan.Trained, plan.Parameters, want, whole.Parameters)
	}
	if text := strings.Join(plan.Writes, " "); !strings.Contains(text, "PEFT") {
		t.Errorf("writes %q; want PEFT folders", text)
	}
}
