// What every Generator promises about one request, and about many at once.

package enginetest

import (
	"errors"
	"fmt"
	"math"

	"molt/engine"
	"molt/traj"
)

var generatorChecks = []Check{
	{"Generator/Capabilities", checkCapabilities},
	{"Generator/Budget", checkBudget},
	{"Generator/Room", checkRoom},
	{"Generator/BadRequest", checkBadRequest},
	{"Generator/Images", checkImages},
	{"Generator/TooLong", checkTooLong},
	{"Generator/StopTokens", checkStopTokens},
	{"Generator/StopSequences", checkStopSequences},
	{"Generator/Emit", checkEmit},
	{"Generator/Logp", checkLogp},
	{"Generator/Version", checkVersion},
	{"Generator/CopiesPrompt", checkCopiesPrompt},
	{"Generator/Concurrent", checkConcurrent},
	{"Generator/Deterministic", checkDeterministic},
	{"Generator/Closed", checkClosed},
}

func checkCapabilities(c *checking) {
	caps := c.generator().Generator.Capabilities()
	if caps.Name == "" || caps.Vocab < 2 || caps.MaxTokens < 2 {
		c.Errorf("capabilities %+v; want a name, a vocabulary and room for a prompt and a reply", caps)
	}
}

func checkBudget(c *checking) {
	s := c.generator()
	for _, n := range []int{1, 2, 17} {
		r := c.request(s, 5, n)
		reply := c.generate(s, r)
		if len(reply.Tokens) != n || reply.Finish != traj.FinishLength {
			c.Errorf("budget of %d tokens gave %d, finish %q; want all of them, %q", n, len(reply.Tokens), reply.Finish, traj.FinishLength)
		}
	}
}

// longest bounds the prompts of checks that fill an engine to its MaxTokens.
const longest = 8192

func checkRoom(c *checking) {
	s := c.generator()
	room := s.Generator.Capabilities().MaxTokens
	c.need(room > 4 && room <= longest, fmt.Sprintf("a MaxTokens that the suite can fill (it is %d)", room))
	reply := c.generate(s, c.request(s, room-3, 100))
	if len(reply.Tokens) != 3 || reply.Finish != traj.FinishLength {
		c.Errorf("a prompt that leaves room for 3 tokens got %d, finish %q", len(reply.Tokens), reply.Finish)
	}
}

func checkBadRequest(c *checking) {
	s := c.generator()
	vocab := int32(s.Generator.Capabilities().Vocab)
	for what, spoil := range map[string]func(*engine.Request){
		"an empty prompt":           func(r *engine.Request) { r.Prompt = nil },
		"a negative id":             func(r *engine.Request) { r.Prompt[1] = -1 },
		"an id beyond the end":      func(r *engine.Request) { r.Prompt[1] = vocab },
		"no token budget":           func(r *engine.Request) { r.Sampling.MaxTokens = 0 },
		"a negative temperature":    func(r *engine.Request) { r.Sampling.Temperature = -1 },
		"a NaN top_p":               func(r *engine.Request) { r.Sampling.TopP = float32(math.NaN()) },
		"a negative top_k":          func(r *engine.Request) { r.Sampling.TopK = -1 },
		"a stop token out of range": func(r *engine.Request) { r.Sampling.StopTokens = []int32{vocab} },
		"an empty stop sequence":    func(r *engine.Request) { r.Sampling.StopSequences = [][]int32{{}} },
	} {
		r := c.request(s, 3, 4)
		spoil(&r)
		reply, err := s.Generator.Generate(c.ctx, r, nil)
		if err == nil || errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrLost) {
			c.Errorf("a request with %s: error %v; want one that is neither unavailable nor lost", what, err)
		}
		if len(reply.Tokens) != 0 {
			c.Errorf("a request with %s sampled %d tokens", what, len(reply.Tokens))
		}
	}
	c.generate(s, c.request(s, 3, 4))
}

// checkImages demands that images are read, or refused: never that the prompt is sampled without them.
func checkImages(c *checking) {
	s := c.generator()
	r := c.request(s, 6, 4)
	r.Images = []traj.Image{{At: 1, Digest: "sha256:1", Media: "image/png", Data: pixel}, {At: 3, Digest: "sha256:1", Media: "image/png", Data: pixel}}
	if reply, err := s.Generator.Generate(c.ctx, r, nil); (err == nil) != s.Generator.Capabilities().Images {
		c.Errorf("a prompt with images: %d tokens, %v; capabilities say %v", len(reply.Tokens), err, s.Generator.Capabilities().Images)
	}
	for what, places := range map[string][2]int{"an image beyond the prompt": {1, 6}, "two images at one place": {1, 1}, "an image before the prompt": {-1, 1}} {
		r.Images[0].At, r.Images[1].At = places[0], places[1]
		_, err := s.Generator.Generate(c.ctx, r, nil)
		c.wantError(err, "a request with "+what)
	}
	c.generate(s, c.request(s, 3, 4))
}

// pixel is a PNG of one pixel.
var pixel = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cc`\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82")

func checkTooLong(c *checking) {
	s := c.generator()
	_, err := s.Generator.Generate(c.ctx, c.request(s, s.Generator.Capabilities().MaxTokens, 1), nil)
	if !errors.Is(err, engine.ErrTooLong) {
		c.Errorf("a prompt as long as MaxTokens: error %v; want ErrTooLong", err)
	}
}

func checkStopTokens(c *checking) {
	s := c.generator()
	r := c.request(s, 5, 12)
	free := c.generate(s, r)
	r.Sampling.StopTokens = everyID(s)
	if reply := c.generate(s, r); len(reply.Tokens) != 1 || reply.Finish != traj.FinishStop {
		c.Errorf("with every id a stop token: %d tokens, finish %q; want 1, %q", len(reply.Tokens), reply.Finish, traj.FinishStop)
	}
	r.Sampling.MaxTokens = 1
	if reply := c.generate(s, r); reply.Finish != traj.FinishStop {
		c.Errorf("a stop token that is also the last of the budget: finish %q; want %q", reply.Finish, traj.FinishStop)
	}
	if !s.Generator.Capabilities().Deterministic {
		return
	}
	r = c.request(s, 5, 12)
	r.Sampling.StopTokens = []int32{free.Tokens[7].ID}
	want := firstRun(free, r.Sampling.StopTokens)
	c.sameTokens("stopped by a token", c.generate(s, r), cut(free, want, traj.FinishStop))
}

func checkStopSequences(c *checking) {
	s := c.generator()
	r := c.request(s, 5, 12)
	free := c.generate(s, r)
	for _, id := range everyID(s) {
		r.Sampling.StopSequences = append(r.Sampling.StopSequences, []int32{id})
	}
	if reply := c.generate(s, r); len(reply.Tokens) != 1 || reply.Finish != traj.FinishStop {
		c.Errorf("with every id a stop sequence: %d tokens, finish %q; want 1, %q", len(reply.Tokens), reply.Finish, traj.FinishStop)
	}
	if !s.Generator.Capabilities().Deterministic {
		return
	}
	run := ids(free)[5:8]
	r.Sampling.StopSequences = [][]int32{run}
	c.sameTokens("stopped by a sequence", c.generate(s, r), cut(free, firstRun(free, run), traj.FinishStop))

	// What the prompt ends with is not sampled: it does not begin a stop sequence.
	first := free.Tokens[0].ID
	r.Sampling.StopSequences = [][]int32{{r.Prompt[len(r.Prompt)-1], first}}
	if reply := c.generate(s, r); len(reply.Tokens) < 2 {
		c.Errorf("a stop sequence began in the prompt")
	}
}

func checkEmit(c *checking) {
	s := c.generator()
	var emitted []engine.Token
	reply, err := s.Generator.Generate(c.ctx, c.request(s, 5, 20), func(t engine.Token) { emitted = append(emitted, t) })
	c.noError(err, "generating")
	c.sameTokens("emitted", engine.Reply{Tokens: emitted, Finish: reply.Finish, Fingerprint: reply.Fingerprint}, reply)
}

func checkLogp(c *checking) {
	s := c.generator()
	for _, temperature := range []float32{0, 0.3, 1, 2} {
		r := c.request(s, 5, 20)
		r.Sampling.Temperature = temperature
		for i, t := range c.generate(s, r).Tokens {
			if !(t.Logp <= 0) || math.IsInf(float64(t.Logp), 0) {
				c.Errorf("temperature %v: log-prob %v of token %d; want a finite number <= 0", temperature, t.Logp, i)
			}
		}
	}
}

func checkVersion(c *checking) {
	s := c.generator()
	reply := c.generate(s, c.request(s, 5, 10))
	want := reply.Tokens[0].Version
	if reply.Fingerprint == "" {
		c.Errorf("the reply has no fingerprint")
	}
	if s.Sink != nil {
		var fingerprint string
		want, fingerprint = s.Sink.Serving()
		if reply.Fingerprint != fingerprint {
			c.Errorf("fingerprint %q of the reply; serving %q", reply.Fingerprint, fingerprint)
		}
	}
	for i, t := range reply.Tokens {
		if t.Version != want {
			c.Errorf("version %d of token %d; serving %d", t.Version, i, want)
		}
	}
}

// checkCopiesPrompt overwrites a prompt after its reply: the next turn of the session must not find the scribble in a cache.
func checkCopiesPrompt(c *checking) {
	s := c.generator()
	c.need(s.Generator.Capabilities().Deterministic, "a deterministic Generator")
	r := c.request(s, 40, 6)
	r.Session = "session"
	first := c.generate(s, r)
	scribbled := append([]int32(nil), r.Prompt...)
	r.Prompt, scribbled = scribbled, r.Prompt
	for i := range scribbled {
		scribbled[i] = 0
	}
	c.sameTokens("after the caller reused its prompt", c.generate(s, r), first)
}

func checkConcurrent(c *checking) {
	s := c.generator()
	requests := c.mixed(s, 48)
	for i, reply := range c.generateAll(s, requests) {
		if want := requests[i].Sampling.MaxTokens; len(reply.Tokens) != want || reply.Finish != traj.FinishLength {
			c.Errorf("request %d of 48 at once: %d tokens, finish %q; want %d, %q", i, len(reply.Tokens), reply.Finish, want, traj.FinishLength)
		}
	}
}

func checkDeterministic(c *checking) {
	s := c.generator()
	c.need(s.Generator.Capabilities().Deterministic, "a deterministic Generator")
	requests := c.mixed(s, 32)
	together := c.generateAll(s, requests)
	alone := c.generator()
	different := map[string]bool{}
	for i, r := range requests {
		r.Session = ""
		c.sameTokens(fmt.Sprintf("request %d, in a batch of 32 and alone", i), together[i], c.generate(alone, r))
		r = c.request(s, 5, 8)
		r.Key.Sample = int32(i)
		different[fmt.Sprint(ids(c.generate(alone, r)))] = true
	}
	if len(different) < 2 {
		c.Errorf("32 samples of one prompt at temperature 1 are all equal: the key is not used")
	}
	r := requests[0]
	r.Sampling.MaxTokens += 7
	longer := c.generate(s, r)
	c.sameTokens("a larger budget, up to the smaller", cut(longer, len(together[0].Tokens), together[0].Finish), together[0])
}

func checkClosed(c *checking) {
	s := c.factory(c.TB)
	if s.Learner != nil {
		defer s.Learner.Close()
	}
	c.need(s.Generator != nil, "a Generator")
	c.noError(s.Generator.Close(), "closing")
	if _, err := s.Generator.Generate(c.ctx, c.request(s, 3, 2), nil); err == nil {
		c.Errorf("a closed generator generated")
	}
	c.noError(s.Generator.Close(), "closing twice")
}
