package local

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"molt/engine"
	"molt/numeric/kernel"
	"molt/numeric/model"
	"molt/traj"
)

var tiny = model.Config{Vocab: 61, Dim: 16, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 8, FFN: 24, MaxPositions: 256,
	NormEps: 1e-6, RopeTheta: 10000, Tied: true, QKNorm: true}

// harness is a batch that a test steps by hand.
type harness struct {
	*batch
	model *model.Model
	pool  *kernel.Pool
}

func newHarness(t rapid.TB, config Config) *harness {
	m, err := model.New(tiny)
	if err != nil {
		t.Fatal(err)
	}
	config = config.resolve(tiny)
	pool := kernel.NewPool(config.Threads)
	b, err := newBatch(config, m, pool)
	if err != nil {
		t.Fatal(err)
	}
	return &harness{b, m, pool}
}

func (h *harness) close() {
	h.pool.Close()
	h.batch.close()
	h.model.Free()
}

func (h *harness) publish(w engine.Weights) {
	h.reload()
	copyWeights(h.model, w)
	h.model.Refresh(h.pool)
	h.version, h.print = w.Version, w.Fingerprint
}

// alone runs one request on nothing but itself.
func (h *harness) alone(w engine.Weights, r engine.Request) engine.Reply {
	h.publish(w)
	c := newCall(r, nil, nil, tiny.MaxPositions)
	h.add([]*call{c})
	for !h.empty() {
		h.step()
	}
	return c.reply
}

// TestLaw drives random mixes of requests through batches with little room: everything that can change how a token is
// computed changes, and no bit of the result does.
func TestLaw(t *testing.T) {
	first, second := initial(t, 1), initial(t, 2)
	second.Version = 1
	reference := newHarness(t, Config{Threads: 1, Pages: 64, StepTokens: 512, Running: 1})
	defer reference.close()
	learners := map[traj.Version]*Learner{0: learnerAt(t, first), 1: learnerAt(t, second)}

	check := func(t *rapid.T) {
		running := rapid.IntRange(1, 6).Draw(t, "running")
		h := newHarness(t, Config{
			Threads:    rapid.IntRange(1, 3).Draw(t, "threads"),
			Pages:      leastPages(tiny) + rapid.IntRange(0, 12).Draw(t, "spare pages"),
			StepTokens: running + rapid.IntRange(0, 60).Draw(t, "step tokens"),
			Running:    running,
		})
		defer h.close()
		h.publish(first)
		requests := rapid.SliceOfN(rapid.Custom(drawRequest), 1, 12).Draw(t, "requests")
		switchAt := rapid.IntRange(-1, 30).Draw(t, "switch of weights at step")
		var calls []*call
		cancel := make([]chan struct{}, len(requests))
		for i, r := range requests {
			cancel[i] = make(chan struct{})
			calls = append(calls, newCall(r, nil, cancel[i], tiny.MaxPositions))
		}
		cancelled := rapid.IntRange(-3, len(calls)-1).Draw(t, "cancelled request")
		for step := 0; !h.empty() || len(h.calls(calls)) > 0; step++ {
			if step > 20000 {
				t.Fatalf("no end after %d steps: %d running, %d waiting", step, len(h.running), len(h.waiting))
			}
			if waiting := h.calls(calls); len(waiting) > 0 && (h.empty() || step%3 == 0) {
				h.add(waiting[:1])
			}
			if step == switchAt {
				h.publish(second)
			}
			if step == 25 && cancelled >= 0 {
				close(cancel[cancelled])
			}
			h.step()
			h.checkPages(t)
		}
		for i, c := range calls {
			checkReply(t, reference, learners, []engine.Weights{first, second}, requests[i], c.reply)
		}
	}
	rounds := 5
	if testing.Short() {
		rounds = 1
	}
	for i := range rounds {
		t.Run(fmt.Sprint(i), rapid.MakeCheck(check))
	}
	for _, l := range learners {
		l.Close()
	}
}

// calls lists the calls that the batch has not been given.
func (h *harness) calls(all []*call) []*call {
	return slices.DeleteFunc(slices.Clone(all), func(c *call) bool {
		return c.over() || slices.Contains(h.waiting, c) || slices.Contains(h.running, c)
	})
}

// drawRequest draws prompts that share beginnings of any length with each other.
func drawRequest(t *rapid.T) engine.Request {
	length := rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(1, 200), rapid.Just(150)).Draw(t, "length")
	fork := rapid.OneOf(rapid.IntRange(0, length), rapid.Just(length)).Draw(t, "fork")
	branch := rapid.Int32Range(0, 2).Draw(t, "branch")
	r := engine.Request{
		Prompt: make([]int32, length),
		Sampling: engine.Sampling{
			Temperature: rapid.SampledFrom([]float32{0, 0.5, 1, 1.7}).Draw(t, "temperature"),
			TopK:        rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "top_k"),
			TopP:        rapid.SampledFrom([]float32{0, 1, 0.8}).Draw(t, "top_p"),
			MinP:        rapid.SampledFrom([]float32{0, 0, 0.02}).Draw(t, "min_p"),
			MaxTokens:   rapid.OneOf(rapid.IntRange(1, 10), rapid.IntRange(50, 230)).Draw(t, "max tokens"),
		},
		Key: engine.Key{Seed: 5, Group: int64(fork), Sample: rapid.Int32Range(0, 3).Draw(t, "sample")},
		Tag: "law",
	}
	if rapid.Bool().Draw(t, "stops") {
		r.Sampling.StopTokens = []int32{7}
		r.Sampling.StopSequences = [][]int32{{1, 2}, {3}}
	}
	for i := range r.Prompt {
		r.Prompt[i] = int32(i*i*3+i*5) % int32(tiny.Vocab)
		if i >= fork {
			r.Prompt[i] = (r.Prompt[i] + 1 + branch) % int32(tiny.Vocab)
		}
	}
	return r
}

// checkReply compares a reply with the one that the request gets alone, as far as it was sampled under the first weights,
// and every log-prob with the learner's.
func checkReply(t *rapid.T, reference *harness, learners map[traj.Version]*Learner, ws []engine.Weights, r engine.Request, got engine.Reply) {
	want := reference.alone(ws[0], r)
	switched := slices.IndexFunc(got.Tokens, func(t engine.Token) bool { return t.Version != ws[0].Version })
	if switched < 0 && got.Finish != traj.FinishAbort {
		if got.Finish != want.Finish || len(got.Tokens) != len(want.Tokens) {
			t.Fatalf("%d tokens, %s; alone %d, %s", len(got.Tokens), got.Finish, len(want.Tokens), want.Finish)
		}
	}
	same := len(got.Tokens)
	if switched >= 0 {
		same = switched
	}
	for i, token := range got.Tokens[:same] {
		if !reflect.DeepEqual(token, want.Tokens[i]) {
			t.Fatalf("token %d is %+v; alone %+v", i, token, want.Tokens[i])
		}
	}
	if switched == 0 {
		want = reference.alone(ws[1], r)
		if !reflect.DeepEqual(got.Tokens, want.Tokens[:len(got.Tokens)]) {
			t.Fatalf("under the second weights %v; alone %v", got.Tokens, want.Tokens)
		}
	}
	for version, l := range learners {
		for i, logp := range scoreReply(t, l, r, got) {
			if token := got.Tokens[i]; token.Version == version && math.Float32bits(token.Logp) != math.Float32bits(logp) {
				t.Fatalf("token %d of version %d has log-prob %v; the learner computes %v", i, version, token.Logp, logp)
			}
		}
	}
}

func scoreReply(t rapid.TB, l *Learner, r engine.Request, reply engine.Reply) []float32 {
	b := engine.Batch{Tokens: slices.Clone(r.Prompt)}
	for _, token := range reply.Tokens {
		b.Score = append(b.Score, int32(len(b.Tokens)))
		b.Tokens = append(b.Tokens, token.ID)
		temperature := r.Sampling.Temperature
		if temperature == 0 {
			temperature = 1
		}
		b.Temperature = append(b.Temperature, temperature)
	}
	if len(b.Score) == 0 {
		return nil
	}
	b.Starts = []int32{0, int32(len(b.Tokens))}
	pass, err := l.Forward(context.Background(), b, engine.Want{})
	if err != nil {
		t.Fatal(err)
	}
	defer pass.Release()
	return slices.Clone(pass.Logp())
}

// checkPages recounts who holds each page.
func (h *harness) checkPages(t rapid.TB) {
	users, indexed := make([]int32, len(h.pages.users)), make([]int32, len(h.pages.users))
	for _, c := range h.running {
		if len(c.seq.Pages) != pagesFor(c.seq.Len) {
			t.Fatalf("%d pages for %d positions", len(c.seq.Pages), c.seq.Len)
		}
		for _, p := range c.seq.Pages {
			users[p]++
		}
	}
	for _, c := range h.waiting {
		if len(c.seq.Pages) > 0 {
			t.Fatalf("a waiting request holds %d pages", len(c.seq.Pages))
		}
	}
	h.index.root.walk(func(p *prefix) { indexed[p.page]++ })
	used, free := 0, 0
	for p := range users {
		if users[p] > 0 {
			used++
		} else if indexed[p] == 0 {
			free++
		}
	}
	if !slices.Equal(users, h.pages.users) || !slices.Equal(indexed, h.pages.indexed) || used != h.pages.used || free != len(h.pages.free) {
		t.Fatalf("pages %+v; counted users %v, prefixes %v", *h.pages, users, indexed)
	}
}

func (p *prefix) walk(visit func(*prefix)) {
	for _, c := range p.children {
		visit(c)
		c.walk(visit)
	}
}

func TestGroupComputesItsPromptOnce(t *testing.T) {
	h := newHarness(t, Config{Threads: 1, Pages: 64, StepTokens: 96, Running: 16})
	defer h.close()
	h.publish(initial(t, 1))
	const n, prompt, reply = 8, 200, 5
	computed := 0
	calls := group(n, prompt, reply)
	h.add(calls)
	for !h.empty() {
		h.step()
		for _, turn := range h.turns {
			computed += turn.n
		}
	}
	// The first computes the prompt and all but the last of what it samples. Each of the others finds all of the prompt
	// but its last id, whose logits it needs.
	if want := prompt + (n - 1) + n*(reply-1); computed != want {
		t.Errorf("%d tokens computed; want %d", computed, want)
	}
	for i, c := range calls {
		if want := min(i, 1) * (prompt - 1); c.reply.Cached != want {
			t.Errorf("sample %d found %d ids of its prompt; want %d", i, c.reply.Cached, want)
		}
	}
}

// TestWaitingEndsWithTheSharedPart lets a short request follow a long one only as far as they agree.
func TestWaitingEndsWithTheSharedPart(t *testing.T) {
	h := newHarness(t, Config{Threads: 1, Pages: 64, StepTokens: 20, Running: 4})
	defer h.close()
	h.publish(initial(t, 1))
	long, short := group(1, 220, 1)[0], group(1, 50, 1)[0]
	short.ids[40] = 60
	h.add([]*call{long, short})
	for !slices.Contains(h.running, short) {
		h.step()
	}
	if long.seq.Len != 60 || short.reply.Cached != 40 { // it starts in the step after the one that passes its 40 tokens
		t.Errorf("the short request starts when %d ids of the long one are known, and finds %d; want 60 and 40", long.seq.Len, short.reply.Cached)
	}
	for !h.empty() {
		h.step()
	}
}

func TestNextTurnFindsTheLast(t *testing.T) {
	h := newHarness(t, Config{Threads: 1, Pages: 64, StepTokens: 96, Running: 16})
	defer h.close()
	h.publish(initial(t, 1))
	first := group(1, 100, 40)[0]
	h.add([]*call{first})
	for !h.empty() {
		h.step()
	}
	r := engine.Request{Prompt: append(slices.Clone(first.ids), 1, 2, 3), Sampling: engine.Sampling{MaxTokens: 1}}
	next := newCall(r, nil, nil, tiny.MaxPositions)
	h.add([]*call{next})
	for !h.empty() {
		h.step()
	}
	if want := 139; next.reply.Cached != want { // all but the last sampled id, which was never run
		t.Errorf("the next turn found %d ids; want %d", next.reply.Cached, want)
	}
}

// TestEqualPagesBecomeOne lets two requests compute the same page side by side: they end up sharing one.
func TestEqualPagesBecomeOne(t *testing.T) {
	h := newHarness(t, Config{Threads: 1, Pages: 64, StepTokens: 96, Running: 16})
	defer h.close()
	h.publish(initial(t, 1))
	calls := group(2, worthWaiting, 100)
	for _, c := range calls {
		c.request.Sampling.Temperature = 0
	}
	h.add(calls)
	for range 80 {
		h.step()
		h.checkPages(t)
	}
	if a, b := calls[0].seq.Pages[0], calls[1].seq.Pages[0]; a != b || h.pages.users[a] != 2 {
		t.Errorf("equal pages lie at %d and %d, the first with %d users", a, b, h.pages.users[a])
	}
	if a, b := calls[0].seq.Pages[1], calls[1].seq.Pages[1]; a == b {
		t.Errorf("both write to page %d", a)
	}
}

// TestFewPagesPreempt makes requests outgrow the pool together: the latest waits, and all of them end.
func TestFewPagesPreempt(t *testing.T) {
	h := newHarness(t, Config{Threads: 1, Pages: leastPages(tiny), StepTokens: 64, Running: 4})
	defer h.close()
	h.publish(initial(t, 1))
	calls := make([]*call, 4)
	for i := range calls {
		r := engine.Request{Prompt: []int32{int32(i), 1, 2}, Sampling: engine.Sampling{Temperature: 1, MaxTokens: 250}}
		calls[i] = newCall(r, nil, nil, tiny.MaxPositions)
	}
	h.add(calls)
	preempted := 0
	for !h.empty() {
		before := len(h.running)
		h.step()
		h.checkPages(t)
		if len(h.running) < before {
			preempted++
		}
	}
	for i, c := range calls {
		if len(c.reply.Tokens) != 250 {
			t.Errorf("request %d has %d tokens", i, len(c.reply.Tokens))
		}
	}
	if preempted < 2 {
		t.Errorf("the pool never ran out: this test shows nothing")
	}
}

func TestNoKVOutlivesItsWeights(t *testing.T) {
	h := newHarness(t, Config{Threads: 1, Pages: 64, StepTokens: 96, Running: 16})
	defer h.close()
	h.publish(initial(t, 1))
	h.add(group(4, 150, 40))
	for range 20 {
		h.step()
	}
	h.publish(initial(t, 2))
	h.checkPages(t)
	if free := len(h.pages.free); free != 64 || len(h.running) > 0 || len(h.waiting) != 4 {
		t.Errorf("%d of 64 pages free, %d requests running, %d waiting; want all, none and 4", free, len(h.running), len(h.waiting))
	}
}

// TestDecodingAllocatesLittle bounds what a steady step allocates: slices that grow with the ids of a request, and a
// prefix for each page. That is less than one allocation in four tokens.
func TestDecodingAllocatesLittle(t *testing.T) {
	h := newHarness(t, Config{Threads: 1, Pages: 200, StepTokens: 64, Running: 32})
	defer h.close()
	h.publish(initial(t, 1))
	h.add(group(32, 20, 230))
	for range 10 {
		h.step()
	}
	const steps = 190
	perStep := testing.AllocsPerRun(steps, h.step)
	if perToken := perStep / 32; perToken > 0.25 {
		t.Errorf("%.2f allocations for each token", perToken)
	}
	if len(h.running) != 32 {
		t.Errorf("%d requests still run; want all 32", len(h.running))
	}
}

func TestDivergedWeightsAreAnError(t *testing.T) {
	h := newHarness(t, Config{Threads: 1, Pages: 64, StepTokens: 96, Running: 16})
	defer h.close()
	w := initial(t, 1)
	for _, tensor := range w.Tensors {
		for i := range tensor.Data {
			tensor.Data[i] = float32(math.NaN())
		}
	}
	h.publish(w)
	c := group(1, 10, 5)[0]
	h.add([]*call{c})
	h.step()
	if c.err == nil || len(c.reply.Tokens) > 0 {
		t.Errorf("weights without numbers gave %v, error %v", c.reply.Tokens, c.err)
	}
	if !h.empty() {
		t.Error("the failed request still runs")
	}
}

func group(n, prompt, reply int) []*call {
	calls := make([]*call, n)
	for i := range calls {
		r := engine.Request{
			Prompt:   make([]int32, prompt),
			Sampling: engine.Sampling{Temperature: 1, MaxTokens: reply},
			Key:      engine.Key{Sample: int32(i)},
			Tag:      fmt.Sprint("sample ", i),
		}
		for k := range r.Prompt {
			r.Prompt[k] = int32(k*k+k) % int32(tiny.Vocab)
		}
		calls[i] = newCall(r, nil, nil, tiny.MaxPositions)
	}
	return calls
}

func initial(t rapid.TB, seed uint64) engine.Weights {
	w, err := Init(tiny, seed)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func learnerAt(t rapid.TB, w engine.Weights) *Learner {
	config := Default()
	config.Threads, config.BatchTokens = 1, 512
	l, err := NewLearner(tiny, w, config)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
