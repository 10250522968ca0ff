package local_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"molt/engine"
	"molt/engine/enginetest"
	"molt/engine/local"
	"molt/numeric/model"
	"molt/numeric/optim"
	"molt/traj"
	"molt/weights"
)

func loraConfig(change func(*local.Config)) local.Config {
	c := local.Default()
	c.Threads, c.BatchTokens, c.Running, c.StepTokens = 1, 512, 8, 64
	c.LoRA = local.LoRA{Rank: 4, Alpha: 8, Targets: []string{"all-linear"}, Seed: 1}
	change(&c)
	return c
}

func loraLearner(t testing.TB, w engine.Weights, change func(*local.Config)) *local.Learner {
	l, err := local.NewLearner(shapes["qwen"], w, loraConfig(change))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func weightsOf(t testing.TB, l engine.Learner) engine.Weights {
	w, err := l.Weights(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// teach takes a step towards a sequence.
func teach(t testing.TB, l engine.Learner) {
	b := whole(promptOf(97, 40, 3))
	pass, err := l.Forward(t.Context(), b, engine.Want{Grad: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := pass.Backward(t.Context(), slices.Repeat([]float32{-1}, len(b.Score)), nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Step(t.Context(), engine.StepOptions{LR: 1e-2, Clip: 1}); err != nil {
		t.Fatal(err)
	}
}

// TestFreshAdapters change nothing, and are those that PEFT would draw: A uniform within 1/sqrt(in), B zero.
func TestFreshAdapters(t *testing.T) {
	base := fresh(t, shapes["qwen"])
	l := loraLearner(t, base, func(*local.Config) {})
	w := weightsOf(t, l)
	tokens := promptOf(97, 30, 1)
	if got, want := logps(t, shapes["qwen"], w, tokens), logps(t, shapes["qwen"], base, tokens); !slices.Equal(got, want) {
		t.Errorf("log-probs %v with a fresh adapter; %v without", got, want)
	}
	if n := len(w.Adapter.Tensors); n != 2*7*2 {
		t.Fatalf("%d factors of 7 projections in 2 layers", n)
	}
	for i := 0; i < len(w.Adapter.Tensors); i += 2 {
		a, b := w.Adapter.Tensors[i], w.Adapter.Tensors[i+1]
		bound, sum, squares := 1/math.Sqrt(float64(a.Shape[1])), 0.0, 0.0
		for _, x := range a.Data {
			if math.Abs(float64(x)) > bound {
				t.Errorf("%s: %v; the bound is %v", a.Name, x, bound)
			}
			sum += float64(x)
			squares += float64(x) * float64(x)
		}
		n := float64(len(a.Data))
		if mean, std := sum/n, math.Sqrt(squares/n)*math.Sqrt(3)/bound; math.Abs(mean) > 0.3*bound || std < 0.8 || std > 1.2 {
			t.Errorf("%s: mean %v, spread %v of a uniform one's", a.Name, mean, std)
		}
		if slices.ContainsFunc(b.Data, func(x float32) bool { return x != 0 }) {
			t.Errorf("%s is not zero", b.Name)
		}
	}
	again, other := loraLearner(t, base, func(*local.Config) {}), loraLearner(t, base, func(c *local.Config) { c.LoRA.Seed = 2 })
	if weightsOf(t, again).Fingerprint != w.Fingerprint || weightsOf(t, other).Fingerprint == w.Fingerprint {
		t.Error("a fresh adapter does not follow from the seed")
	}
}

// TestTheBaseStays trains an adapter: the weights under it keep their bits, and the fingerprint is that of both.
func TestTheBaseStays(t *testing.T) {
	base := fresh(t, shapes["qwen"])
	l := loraLearner(t, base, func(c *local.Config) { c.LoRA.Targets = []string{"q_proj", "down_proj"} })
	prints := map[string]bool{}
	for range 3 {
		teach(t, l)
		w := weightsOf(t, l)
		prints[w.Fingerprint] = true
		plain := w
		plain.Adapter = nil
		if w.Adapter.Base != base.Fingerprint || local.Fingerprint(plain) != base.Fingerprint {
			t.Fatalf("the base is %q, by its bytes %q; it was %q", w.Adapter.Base, local.Fingerprint(plain), base.Fingerprint)
		}
		for i, tensor := range local.Merge(w).Tensors {
			adapted := strings.HasSuffix(tensor.Name, "q_proj.weight") || strings.HasSuffix(tensor.Name, "down_proj.weight")
			if slices.Equal(tensor.Data, base.Tensors[i].Data) == adapted {
				t.Errorf("%s: changed is %v, adapted %v", tensor.Name, !adapted, adapted)
			}
		}
	}
	if len(prints) != 3 {
		t.Errorf("%d fingerprints of 3 versions", len(prints))
	}
}

// TestOnAndOff publishes adapters of different shapes and plain weights in turn: each is served as by a generator that
// never held another, bit for bit, and merged into one model it computes the same.
func TestOnAndOff(t *testing.T) {
	shape, base := shapes["qwen"], fresh(t, shapes["qwen"])
	first := loraLearner(t, base, func(*local.Config) {})
	second := loraLearner(t, base, func(c *local.Config) { c.LoRA.Rank, c.LoRA.Targets = 7, []string{"v_proj", "gate_proj"} })
	teach(t, first)
	teach(t, second)
	teach(t, second)
	other := base
	other.Tensors = slices.Clone(other.Tensors)
	other.Tensors[0].Data = slices.Clone(other.Tensors[0].Data)
	other.Tensors[0].Data[5]++
	other.Fingerprint = local.Fingerprint(other)
	third := loraLearner(t, other, func(*local.Config) {})
	teach(t, third)

	g, err := local.NewGenerator(shape, base, loraConfig(func(*local.Config) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	r := engine.Request{Prompt: promptOf(97, 20, 2), Sampling: engine.Sampling{Temperature: 1, MaxTokens: 12}}
	replies := map[string]engine.Reply{}
	for i, w := range []engine.Weights{weightsOf(t, first), base, weightsOf(t, second), weightsOf(t, third), weightsOf(t, first), base, weightsOf(t, second)} {
		if err := g.Publish(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		got, err := g.Generate(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Fingerprint != w.Fingerprint {
			t.Errorf("publish %d: fingerprint %q; want %q", i, got.Fingerprint, w.Fingerprint)
		}
		alone, err := local.NewGenerator(shape, local.Merge(w), loraConfig(func(*local.Config) {}))
		if err != nil {
			t.Fatal(err)
		}
		want, err := alone.Generate(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := alone.Close(); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Tokens, want.Tokens) {
			t.Errorf("publish %d: tokens %v; merged %v", i, got.Tokens, want.Tokens)
		}
		replies[w.Fingerprint] = got
	}
	if len(replies) != 4 {
		t.Errorf("%d fingerprints of 4 models", len(replies))
	}
}

// lying serves the base of whatever is published, and says that it serves the adapter.
type lying struct {
	*local.Generator
	claim *engine.Weights
}

func (g lying) Publish(ctx context.Context, w engine.Weights) error {
	*g.claim = w
	w.Adapter, w.Fingerprint = nil, w.Adapter.Base
	return g.Generator.Publish(ctx, w)
}

func (g lying) Serving() (traj.Version, string) { return g.claim.Version, g.claim.Fingerprint }

func (g lying) Generate(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
	reply, err := g.Generator.Generate(ctx, r, emit)
	reply.Fingerprint = g.claim.Fingerprint
	return reply, err
}

// TestAnAdapterThatIsNotServedIsNoticed runs the conformance suite on such a generator, and on one that does as it says.
func TestAnAdapterThatIsNotServedIsNoticed(t *testing.T) {
	for _, lies := range []bool{false, true} {
		factory := func(t testing.TB) enginetest.Subject {
			s := subject(t, shapes["qwen"], loraConfig(func(*local.Config) {}))
			if lies {
				g := lying{s.Generator.(*local.Generator), new(engine.Weights)}
				s.Generator, s.Sink = g, g
			}
			return s
		}
		for _, check := range enginetest.Checks() {
			if check.Name != "Agree/AfterStep" && check.Name != "Sink/MidRequest" {
				continue
			}
			r := &noting{TB: t}
			done := make(chan struct{}) // closed by the goroutine below, which Fatalf ends
			go func() {
				defer close(done)
				defer r.cleanup()
				check.Run(r, factory)
			}()
			<-done
			if (len(r.failures) > 0) != lies {
				t.Errorf("%s, with a generator that serves the base: %v; failures %q", check.Name, lies, r.failures)
			}
		}
	}
}

// noting is a testing.TB that keeps failures for itself.
type noting struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (n *noting) Cleanup(f func()) { n.cleanups = append(n.cleanups, f) }
func (n *noting) cleanup() {
	for i := len(n.cleanups) - 1; i >= 0; i-- {
		n.cleanups[i]()
	}
}
func (n *noting) Errorf(format string, args ...any) {
	n.failures = append(n.failures, fmt.Sprintf(format, args...))
}
func (n *noting) Fatalf(format string, args ...any) {
	n.Errorf(format, args...)
	runtime.Goexit()
}

// tensorNames lists what a checkpoint holds.
func tensorNames(t testing.TB, dir string) []string {
	saved, err := weights.OpenCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	return saved.Names()
}

// TestAdapterCheckpoints pins what is in one, and refuses those of other training.
func TestAdapterCheckpoints(t *testing.T) {
	base := fresh(t, shapes["qwen"])
	other := fresh(t, shapes["qwen"])
	other.Tensors[0].Data[0]++
	other.Fingerprint = local.Fingerprint(other)
	l := loraLearner(t, base, func(*local.Config) {})
	teach(t, l)
	dir := filepath.Join(t.TempDir(), "checkpoint")
	if err := l.Save(t.Context(), dir, []byte(`"here"`)); err != nil {
		t.Fatal(err)
	}
	if names := tensorNames(t, dir); len(names) != 3*28 || !slices.Contains(names, "model.layers.1.mlp.up_proj.lora_B.weight") ||
		!slices.Contains(names, "adam.v.model.layers.1.mlp.up_proj.lora_A.weight") || slices.Contains(names, "model.embed_tokens.weight") {
		t.Errorf("tensors %q; want 28 factors with their moments, and no weight of the base", names)
	}
	again := loraLearner(t, base, func(*local.Config) {})
	if state, err := again.Load(t.Context(), dir); err != nil || string(state) != `"here"` || weightsOf(t, again).Fingerprint != weightsOf(t, l).Fingerprint {
		t.Errorf("loaded %q, %v", state, err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	weightsLearner := loraLearner(t, base, func(c *local.Config) { c.LoRA = local.LoRA{} })
	if err := weightsLearner.Save(t.Context(), plain, nil); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		into *local.Learner
		dir  string
		want string
	}{
		"another base":   {loraLearner(t, other, func(*local.Config) {}), dir, "was trained over weights with fingerprint"},
		"another rank":   {loraLearner(t, base, func(c *local.Config) { c.LoRA.Rank = 5 }), dir, "rank 4"},
		"another scale":  {loraLearner(t, base, func(c *local.Config) { c.LoRA.Alpha = 9 }), dir, "alpha 8"},
		"other targets":  {loraLearner(t, base, func(c *local.Config) { c.LoRA.Targets = []string{"q_proj"} }), dir, "has no place here"},
		"whole weights":  {weightsLearner, dir, "is of an adapter"},
		"whole weights'": {l, plain, "is of whole weights"},
	} {
		before := weightsOf(t, c.into).Fingerprint
		if _, err := c.into.Load(t.Context(), c.dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v; want %q", what, err, c.want)
		}
		if weightsOf(t, c.into).Fingerprint != before {
			t.Errorf("%s: a refused checkpoint changed the weights", what)
		}
	}
}

// TestLoRAIsChecked names what cannot be trained.
func TestLoRAIsChecked(t *testing.T) {
	base := fresh(t, shapes["qwen"])
	begun := weightsOf(t, loraLearner(t, base, func(*local.Config) {}))
	head := optim.Default()
	for want, c := range map[string]struct {
		w      engine.Weights
		change func(*local.Config)
	}{
		"LoRA.Rank is -1": {base, func(c *local.Config) { c.LoRA.Rank = -1 }},
		"no adapted matrix has a rank above 32, which is that of model.layers.0.self_attn.q_proj.weight [64, 32]": {base, func(c *local.Config) { c.LoRA.Rank = 33 }},
		"LoRA.Alpha is 0":          {base, func(c *local.Config) { c.LoRA.Alpha = 0 }},
		`"qproj" is no projection`: {base, func(c *local.Config) { c.LoRA.Targets = []string{"q_proj", "qproj"} }},
		"no projection is named":   {base, func(c *local.Config) { c.LoRA.Targets = nil }},
		"Muon makes the step":      {base, func(c *local.Config) { c.Optimizer.Name = "muon" }},
		"decides about no":         {base, func(c *local.Config) { c.Optimizer.Freeze = []string{"model.embed_tokens.*"} }},
		"the model has no value":   {base, func(c *local.Config) { c.Head = &head }},
		"the weights have an":      {begun, func(c *local.Config) { c.LoRA = local.LoRA{} }},
		"LoRA wants 5, 8, false":   {begun, func(c *local.Config) { c.LoRA.Rank = 5 }},
		"LoRA.Targets choose 2":    {begun, func(c *local.Config) { c.LoRA.Targets = []string{"q_proj"} }},
		"the fingerprint says":     {stolen(begun), func(*local.Config) {}},
	} {
		if _, err := local.NewLearner(shapes["qwen"], c.w, loraConfig(c.change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	shape := shapes["llama"]
	if _, err := local.NewLearner(shape, fresh(t, shape), loraConfig(func(*local.Config) {})); err == nil || !strings.Contains(err.Error(), "an optimizer of its own") {
		t.Errorf("a value head beside an adapter: error %v", err)
	}
}

// stolen has the factors of one adapter and the fingerprint of another.
func stolen(w engine.Weights) engine.Weights {
	a := *w.Adapter
	w.Adapter = &a
	a.Tensors = slices.Clone(a.Tensors)
	a.Tensors[1].Data = slices.Clone(a.Tensors[1].Data)
	a.Tensors[1].Data[0] = 1
	return w
}

// TestJointLoss descends a loss of policy and critic through one trunk: with h the head and c the coefficient,
//
//	L = Σ d·logp + c·½ Σ (V − R)²
//
// its gradient by every weight, the head's included, is that of finite differences, and each optimizer takes its part.
func TestJointLoss(t *testing.T) {
	const coef = 0.7
	shape := shapes["llama"]
	served := shape
	served.ValueHead = false
	head := optim.Default()
	config := loraConfig(func(c *local.Config) { c.LoRA, c.Head = local.LoRA{}, &head })
	inner, err := local.NewLearner(shape, fresh(t, served), config)
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	l := probed{inner}
	for i := range shape.Dim {
		inner.SetWeight("score.weight", i, 0.1*float32(i%7-3))
	}
	b := whole(promptOf(shape.Vocab, 12, 1))
	n := len(b.Score)
	dLogp, wanted := make([]float32, n), make([]float64, n)
	for i := range n {
		dLogp[i], wanted[i] = 0.3*float32(i%4-1), float64(i%3)-0.5
	}
	loss := func() (sum float64) {
		pass, err := l.Forward(t.Context(), b, engine.Want{Value: true})
		if err != nil {
			t.Fatal(err)
		}
		defer pass.Release()
		for i := range n {
			sum += float64(dLogp[i])*float64(pass.Logp()[i]) + coef/2*math.Pow(float64(pass.Value()[i])-wanted[i], 2)
		}
		return sum
	}
	pass, err := l.Forward(t.Context(), b, engine.Want{Value: true, Grad: true})
	if err != nil {
		t.Fatal(err)
	}
	dValue := make([]float32, n)
	for i, v := range pass.Value() {
		dValue[i] = float32(coef * (float64(v) - wanted[i]))
	}
	if err := pass.Backward(t.Context(), dLogp, nil, dValue); err != nil {
		t.Fatal(err)
	}
	numbers := map[string][]float32{}
	for _, tensor := range weightsOf(t, inner).Tensors {
		numbers[tensor.Name] = tensor.Data
	}
	numbers["score.weight"] = make([]float32, shape.Dim)
	for i := range shape.Dim {
		numbers["score.weight"][i] = 0.1 * float32(i%7-3)
	}
	for name, data := range numbers {
		gradient, length := make([]float64, len(data)), 0.0
		for i := range data {
			gradient[i] = inner.Gradient(name, i)
			length += gradient[i] * gradient[i]
		}
		length = math.Sqrt(length)
		before := slices.Clone(data)
		at := func(step float64) float64 {
			for i, x := range before {
				inner.SetWeight(name, i, float32(float64(x)+step*gradient[i]/length))
			}
			return loss()
		}
		const h = 1e-3
		if slope := (at(h) - at(-h)) / (2 * h); math.Abs(slope-length) > 2e-2*length+1e-3 {
			t.Errorf("%s: slope %v along its gradient; finite differences give %v", name, length, slope)
		}
		at(0)
	}
	result, err := l.Step(t.Context(), engine.StepOptions{LR: 1e-3, Clip: 1, Head: &engine.HeadStep{LR: 1e-2, Clip: 1}})
	if err != nil || !(result.GradNorm > 0) || !(result.HeadNorm > 0) || result.Version != 1 {
		t.Errorf("step %+v, %v", result, err)
	}
	for _, tensor := range weightsOf(t, inner).Tensors {
		if tensor.Name == "score.weight" {
			t.Error("the head is among the policy's weights")
		}
	}
}

// TestScorer computes what a learner computes, in less memory, and nothing else.
func TestScorer(t *testing.T) {
	shape, w := shapes["llama"], fresh(t, shapes["llama"])
	config := local.Default()
	config.Threads, config.BatchTokens = 2, 512
	s, err := local.NewScorer(shape, w, config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := local.NewLearner(shape, w, config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := whole(promptOf(shape.Vocab, 200, 1))
	lanes := func(s engine.Scorer) [][]float32 {
		pass, err := s.Forward(t.Context(), b, engine.Want{Entropy: true, Value: true})
		if err != nil {
			t.Fatal(err)
		}
		defer pass.Release()
		return [][]float32{slices.Clone(pass.Logp()), slices.Clone(pass.Entropy()), slices.Clone(pass.Value())}
	}
	if got, want := lanes(s), lanes(l); !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
		t.Error("a scorer's lanes are not a learner's")
	}
	if _, err := s.Forward(t.Context(), b, engine.Want{Grad: true}); err == nil || !strings.Contains(err.Error(), "never change") {
		t.Errorf("with gradients: error %v", err)
	}
	if got, want := s.Capabilities(), l.Capabilities(); got != want {
		t.Errorf("capabilities %+v; a learner has %+v", got, want)
	}
	plan, err := local.Plan(shape, config)
	if err != nil {
		t.Fatal(err)
	}
	if 2*plan.Scorer > plan.Learner() {
		t.Errorf("a scorer takes %d bytes and a learner %d", plan.Scorer, plan.Learner())
	}
}

// TestPlanOfAnAdapter counts what an adapter saves, and what it costs.
func TestPlanOfAnAdapter(t *testing.T) {
	shape := model.Config{Vocab: 512, Dim: 128, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 32, FFN: 384, MaxPositions: 512,
		NormEps: 1e-6, RopeTheta: 10000, Tied: true}
	config := loraConfig(func(c *local.Config) { c.LoRA.Targets = []string{"down_proj"} })
	with, err := local.Plan(shape, config)
	if err != nil {
		t.Fatal(err)
	}
	config.LoRA = local.LoRA{}
	without, err := local.Plan(shape, config)
	if err != nil {
		t.Fatal(err)
	}
	const matrices, factors = 2 * 4 * 128 * 384, 2 * 4 * 4 * (128 + 384) // bytes of down_proj and of its factors
	if with.Moments != 2*factors {
		t.Errorf("moments take %d bytes; the factors' are %d", with.Moments, 2*factors)
	}
	if with.Gradients != without.Gradients {
		t.Errorf("gradients take %d bytes; every weight's are %d", with.Gradients, without.Gradients)
	}
	const room = 32 * 384 * 4 // of one thread
	if got, want := with.GeneratorWeights-without.GeneratorWeights, int64(matrices+factors+room); got != want {
		t.Errorf("a generator with an adapter takes %d bytes more; want %d", got, want)
	}
	const packed = 16 * 384 * 4
	if got, want := with.LearnerWeights-without.LearnerWeights, int64(2*factors+room+packed); got != want {
		t.Errorf("a learner with an adapter takes %d bytes more; want %d", got, want)
	}
}

// BenchmarkStepOfAnAdapter is an optimizer step with nothing before it, beside that of the weights: projection, AdamW, merge
// and the copies that products read.
func BenchmarkStepOfAnAdapter(b *testing.B) {
	shape := model.Config{Vocab: 1024, Dim: 512, Layers: 4, Heads: 8, KVHeads: 4, HeadDim: 64, FFN: 1536, MaxPositions: 64,
		NormEps: 1e-6, RopeTheta: 10000, Tied: true}
	for _, rank := range []int{0, 8, 64} {
		b.Run(fmt.Sprintf("rank=%d", rank), func(b *testing.B) {
			config := loraConfig(func(c *local.Config) { c.Threads, c.LoRA.Rank = 2, rank })
			l, err := local.NewLearner(shape, fresh(b, shape), config)
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			for b.Loop() {
				if _, err := l.Step(b.Context(), engine.StepOptions{LR: 1e-3}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(shape.ParamCount()), "ns/weight")
		})
	}
}
