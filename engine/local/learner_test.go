package local

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/engine"
	"molt/numeric/model"
	"molt/numeric/optim"
	"molt/weights"
)

func newLearner(t testing.TB, shape model.Config, change func(*Config)) *Learner {
	config := Default()
	config.Threads, config.BatchTokens = 1, 512
	change(&config)
	w, err := Init(shape, 1)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLearner(shape, w, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// backward adds the gradient of d times the sum of log-probs of two sequences.
func backward(t testing.TB, l *Learner, salt int32, d float32) {
	b := engine.Batch{Starts: []int32{0, 40, 100}}
	for i := range int32(100) {
		b.Tokens = append(b.Tokens, (i*i+salt*i)%61)
		if i%40 != 0 && i%3 != 0 {
			b.Score = append(b.Score, i)
		}
	}
	pass, err := l.Forward(t.Context(), b, engine.Want{Grad: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := pass.Backward(t.Context(), slices.Repeat([]float32{d}, len(b.Score)), nil, nil); err != nil {
		t.Fatal(err)
	}
}

func step(t testing.TB, l *Learner, o engine.StepOptions) engine.StepResult {
	result, err := l.Step(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func useLoRA(c *Config) {
	c.LoRA = LoRA{Rank: 5, Alpha: 10, Targets: []string{weights.AllLinear}, Seed: 1}
}

func useMuon(c *Config) { c.Optimizer.Name, c.Optimizer.Muon.AdamShare = "muon", 0.5 }

func TestThreadsChangeNoBit(t *testing.T) {
	for name, change := range map[string]func(*Config){"adam": func(*Config) {}, "muon": useMuon, "adapter": useLoRA} {
		var want string
		for threads := 1; threads <= 3; threads++ {
			l := newLearner(t, tiny, func(c *Config) { change(c); c.Threads = threads })
			for i := range int32(4) {
				backward(t, l, i, -0.1)
				backward(t, l, i+7, 0.05)
				step(t, l, engine.StepOptions{LR: 1e-2, Clip: 0.5})
			}
			got := printed(t, l)
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s, %d threads: fingerprint %s; one thread gave %s", name, threads, got, want)
			}
		}
	}
}

func printed(t testing.TB, l *Learner) string {
	w, err := l.Weights(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return w.Fingerprint
}

// TestOptimizer takes two steps by the formula, in float64: m and v are running means of the clipped gradient and its
// square, corrected for their start at 0; w -= lr (m/(sqrt(v)+eps) + decay w), decay for matrices only.
func TestOptimizer(t *testing.T) {
	const lr, decay, b1, b2, eps = 1e-2, 0.1, 0.8, 0.9, 1e-6
	for _, clip := range []float64{0, 0.25} {
		l := newLearner(t, tiny, func(c *Config) { c.Optimizer.Adam = optim.Adam{Beta1: b1, Beta2: b2, Eps: eps, Decay: decay} })
		want := map[string][][3]float64{} // w, m, v
		for _, p := range l.held.Params() {
			for _, w := range p.Data {
				want[p.Name] = append(want[p.Name], [3]float64{float64(w)})
			}
		}
		for taken := 1; taken <= 2; taken++ {
			backward(t, l, int32(taken), 0.2)
			norm := 0.0
			for _, p := range l.grads.Params() {
				for _, g := range p.Data {
					norm += float64(g) * float64(g)
				}
			}
			norm = math.Sqrt(norm)
			scale := 1.0
			if clip > 0 {
				scale = min(1, clip/norm)
			}
			for i, p := range l.grads.Params() {
				for k, gradient := range p.Data {
					e, g := &want[p.Name][k], float64(gradient)*scale
					e[1] = b1*e[1] + (1-b1)*g
					e[2] = b2*e[2] + (1-b2)*g*g
					m, v := e[1]/(1-math.Pow(b1, float64(taken))), e[2]/(1-math.Pow(b2, float64(taken)))
					if len(l.held.Params()[i].Shape) == 2 {
						e[0] -= lr * decay * e[0]
					}
					e[0] -= lr * m / (math.Sqrt(v) + eps)
				}
			}
			if result := step(t, l, engine.StepOptions{LR: lr, Clip: clip}); math.Abs(result.GradNorm-norm) > 1e-6*norm {
				t.Errorf("gradient norm %v; want %v", result.GradNorm, norm)
			}
		}
		for _, p := range l.held.Params() {
			for k, w := range p.Data {
				if math.Abs(float64(w)-want[p.Name][k][0]) > 1e-5 {
					t.Fatalf("clip %v: %s[%d] is %v; want %v", clip, p.Name, k, w, want[p.Name][k][0])
				}
			}
		}
	}
}

func TestStepOptionsAreChecked(t *testing.T) {
	l := newLearner(t, tiny, func(*Config) {})
	for _, o := range []engine.StepOptions{{LR: math.NaN()}, {LR: -1}, {LR: math.Inf(1)}, {LR: 1, Clip: math.NaN()}, {LR: 1, Clip: -1}} {
		if _, err := l.Step(t.Context(), o); err == nil {
			t.Errorf("a step with %+v was taken", o)
		}
	}
	if l.version != 0 {
		t.Errorf("version %d after refused steps", l.version)
	}
}

func TestLanesEndWithTheirPass(t *testing.T) {
	shape := tiny
	shape.ValueHead = true
	l := newLearner(t, shape, func(*Config) {})
	b := engine.Batch{Tokens: []int32{1, 2}, Starts: []int32{0, 2}, Score: []int32{1}}
	pass, err := l.Forward(t.Context(), b, engine.Want{Entropy: true, Value: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(pass.Logp()) != 1 || len(pass.Entropy()) != 1 || len(pass.Value()) != 1 {
		t.Error("a living pass lacks lanes")
	}
	pass.Release()
	if pass.Logp() != nil || pass.Entropy() != nil || pass.Value() != nil {
		t.Error("lanes outlive their pass")
	}
}

func TestEndedContextsAndClosedLearners(t *testing.T) {
	l := newLearner(t, tiny, func(*Config) {})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	b := engine.Batch{Tokens: []int32{1, 2}, Starts: []int32{0, 2}, Score: []int32{1}}
	calls := func(ctx context.Context) map[string]error {
		_, forward := l.Forward(ctx, b, engine.Want{})
		_, step := l.Step(ctx, engine.StepOptions{})
		_, load := l.Load(ctx, t.TempDir())
		return map[string]error{"forward": forward, "step": step, "load": load, "save": l.Save(ctx, filepath.Join(t.TempDir(), "c"), nil)}
	}
	for what, err := range calls(ended) {
		if err == nil || !strings.Contains(err.Error(), "context canceled") {
			t.Errorf("%s under an ended context: %v", what, err)
		}
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	for what, err := range calls(t.Context()) {
		if err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("%s of a closed learner: %v", what, err)
		}
	}
	if _, err := l.Weights(t.Context()); err == nil {
		t.Error("a closed learner has weights")
	}
}

func TestCheckpointKeepsTheCallersBytes(t *testing.T) {
	l := newLearner(t, tiny, func(*Config) {})
	for _, state := range []string{"", `{ "a" : [1, 2] }`, `"<&>"`, "17"} {
		dir := filepath.Join(t.TempDir(), "checkpoint")
		if err := l.Save(t.Context(), dir, []byte(state)); err != nil {
			t.Fatal(err)
		}
		got, err := l.Load(t.Context(), dir)
		if err != nil || string(got) != state {
			t.Errorf("state %q came back as %q, %v", state, got, err)
		}
	}
	if err := l.Save(t.Context(), filepath.Join(t.TempDir(), "checkpoint"), []byte("{")); err == nil {
		t.Error("a state that is not JSON was saved")
	}
}

// TestCheckpointFormat pins what is in a checkpoint: later programs read it by these names.
func TestCheckpointFormat(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   func(p model.Param) []string // beside the parameter itself
	}{
		"adam": {func(*Config) {}, func(p model.Param) []string { return []string{"adam.m." + p.Name, "adam.v." + p.Name} }},
		"muon, embedding frozen": {
			func(c *Config) { useMuon(c); c.Optimizer.Freeze = []string{"*embed_tokens*"} },
			func(p model.Param) []string {
				switch {
				case p.Name == "model.embed_tokens.weight":
					return nil
				case len(p.Shape) == 2:
					return []string{"muon.m." + p.Name}
				}
				return []string{"adam.m." + p.Name, "adam.v." + p.Name}
			},
		},
	} {
		l := newLearner(t, tiny, c.change)
		backward(t, l, 1, 1)
		step(t, l, engine.StepOptions{LR: 1e-3})
		dir := filepath.Join(t.TempDir(), "checkpoint")
		save(t, l, dir)
		saved, err := weights.OpenCheckpoint(dir)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, p := range l.held.Params() {
			want = append(append(want, p.Name), c.want(p)...)
		}
		slices.Sort(want)
		if got := slices.Sorted(slices.Values(saved.Names())); !slices.Equal(got, want) {
			t.Errorf("%s: tensors %v; want %v", name, got, want)
		}
		if got, want := string(saved.State), `{"version":1,"parent":0,"optimizer_steps":1,"state":null}`; got != want {
			t.Errorf("%s: state %s; want %s", name, got, want)
		}
		saved.Close()
	}
}

// TestCheckpointsOfOtherOptimizers are refused with the reason, and change nothing.
func TestCheckpointsOfOtherOptimizers(t *testing.T) {
	adam, muon := newLearner(t, tiny, func(*Config) {}), newLearner(t, tiny, useMuon)
	frozen := newLearner(t, tiny, func(c *Config) { c.Optimizer.Freeze = []string{"model.norm.weight"} })
	for _, c := range [][2]*Learner{{adam, muon}, {muon, adam}, {frozen, adam}, {adam, frozen}} {
		dir := filepath.Join(t.TempDir(), "checkpoint")
		backward(t, c[0], 1, 1)
		step(t, c[0], engine.StepOptions{LR: 1e-3})
		save(t, c[0], dir)
		before := printed(t, c[1])
		if _, err := c[1].Load(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "another optimizer, or from one that froze other parameters") {
			t.Errorf("error %v; want one that names the optimizer", err)
		}
		if printed(t, c[1]) != before {
			t.Error("a refused checkpoint changed weights")
		}
	}
}

// TestFreeze trains around frozen parameters: they keep their bits, and their gradients may be anything.
func TestFreeze(t *testing.T) {
	l := newLearner(t, tiny, func(c *Config) { c.Optimizer.Freeze = []string{"model.layers.0.*", "*embed_tokens*"} })
	before := map[string][]float32{}
	for _, p := range l.held.Params() {
		before[p.Name] = slices.Clone(p.Data)
	}
	for i := range int32(2) {
		backward(t, l, i, 0.2)
		l.grads.Params()[0].Data[0] = float32(math.Inf(1))
		if result := step(t, l, engine.StepOptions{LR: 1e-2, Clip: 1}); result.Skipped {
			t.Fatal("the gradient of a frozen parameter ended the step")
		}
	}
	for _, p := range l.held.Params() {
		frozen := strings.HasPrefix(p.Name, "model.layers.0.") || p.Name == "model.embed_tokens.weight"
		if slices.Equal(p.Data, before[p.Name]) != frozen {
			t.Errorf("%s: changed is %v, frozen is %v", p.Name, !frozen, frozen)
		}
	}
}

// TestDamagedCheckpointsChangeNothing loads what is broken, or belongs to another model.
func TestDamagedCheckpointsChangeNothing(t *testing.T) {
	l := newLearner(t, tiny, func(*Config) {})
	backward(t, l, 1, 1)
	step(t, l, engine.StepOptions{LR: 1e-3})
	before, err := l.Weights(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	deeper, wider := tiny, tiny
	deeper.Layers++
	wider.FFN++
	for what, make := range map[string]func(dir string){
		"a deeper model": func(dir string) { save(t, newLearner(t, deeper, func(*Config) {}), dir) },
		"a wider model":  func(dir string) { save(t, newLearner(t, wider, func(*Config) {}), dir) },
		"a shallow model": func(dir string) {
			shallow := tiny
			shallow.Layers--
			save(t, newLearner(t, shallow, func(*Config) {}), dir)
		},
		"a flipped bit": func(dir string) {
			save(t, l, dir)
			file := filepath.Join(dir, "tensors.safetensors")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)/2] ^= 1
			if err := os.WriteFile(file, data, 0o666); err != nil {
				t.Fatal(err)
			}
		},
	} {
		dir := filepath.Join(t.TempDir(), "checkpoint")
		make(dir)
		if _, err := l.Load(t.Context(), dir); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: error %v; want one that names the folder", what, err)
		}
		after, err := l.Weights(t.Context())
		if err != nil || after.Fingerprint != before.Fingerprint || after.Version != before.Version {
			t.Errorf("%s: weights changed", what)
		}
	}
}

func save(t testing.TB, l *Learner, dir string) {
	if err := l.Save(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
}

func TestConfigValidate(t *testing.T) {
	if err := Default().Validate(tiny); err != nil {
		t.Error(err)
	}
	broken := Config{Threads: -1, Pages: 1, Running: 0, StepTokens: -1, BatchTokens: 3}
	err := broken.Validate(tiny)
	for _, field := range []string{"Threads", "Pages", "Running", "StepTokens", "BatchTokens", "Adam.Eps"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not named in: %v", field, err)
		}
	}
	noHeads := tiny
	noHeads.Heads = 0
	if err := Default().Validate(noHeads); err == nil {
		t.Error("a shape without heads passed")
	}
}

func TestPlan(t *testing.T) {
	shape := model.Config{Vocab: 461, Dim: 128, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 32, FFN: 384, MaxPositions: 512,
		NormEps: 1e-6, RopeTheta: 10000, Tied: true, QKNorm: true}
	config := Default()
	config.Threads, config.Pages, config.BatchTokens = 2, 1000, 1024
	plan, err := Plan(shape, config)
	if err != nil {
		t.Fatal(err)
	}
	// A page is 2 layers x 2 heads x 64 tokens x (32 + 32) numbers of 4 bytes.
	if want := int64(1000 * 65536); plan.KV != want {
		t.Errorf("1000 pages take %d bytes; want %d", plan.KV, want)
	}
	params := 4 * int64(shape.ParamCount())
	if plan.Gradients < params || plan.Gradients > params+4096 || plan.Moments < 2*params || plan.Moments > 2*params+4096 {
		t.Errorf("gradients %d, moments %d; the weights have %d bytes", plan.Gradients, plan.Moments, params)
	}
	config.BatchTokens *= 2
	double, err := Plan(shape, config)
	if err != nil {
		t.Fatal(err)
	}
	if ratio := float64(double.Activations) / float64(plan.Activations); ratio < 1.7 || ratio > 2 {
		t.Errorf("twice the tokens take %.2f times the activations", ratio)
	}
	if plan.Generator() != plan.GeneratorWeights+plan.KV+plan.GeneratorWork || plan.Learner() <= 4*params {
		t.Errorf("%+v does not add up", plan)
	}
	if _, err := Plan(shape, Config{}); err == nil {
		t.Error("an empty configuration has a plan")
	}
}
