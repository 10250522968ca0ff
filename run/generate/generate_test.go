package generate

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"molt/agent"
	"molt/chat"
	"molt/examples/shop"
	"molt/run/models"
	"molt/traj"
)

func speaker(t *testing.T, dir string, change func(*Config)) *Speaker {
	t.Helper()
	c := Defaults()
	c.Model, c.MaxTokens, c.Threads = dir, 24, 1
	if change != nil {
		change(&c)
	}
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// plainModel has no template and an end that it hardly ever samples.
func plainModel(t *testing.T) string {
	return tinyModel(t, func(c *models.InitConfig) { c.Plain = true })
}

// tinyModel makes a model that says nothing sensible, quickly.
func tinyModel(t *testing.T, change func(*models.InitConfig)) string {
	t.Helper()
	c := models.InitConfig{
		Out: filepath.Join(t.TempDir(), "model"), Shape: models.TinyShape(), Seed: 1, VocabSize: 300,
		Texts: slices.Values([]string{"the cat and the dog and the bird", "the sand and the land"}),
	}
	c.Shape.HiddenSize, c.Shape.IntermediateSize, c.Shape.NumHiddenLayers = 32, 64, 1
	c.Shape.NumAttentionHeads, c.Shape.NumKeyValueHeads, c.Shape.HeadDim, c.Shape.MaxPositionEmbeddings = 2, 1, 16, 256
	change(&c)
	if err := models.Init(c); err != nil {
		t.Fatal(err)
	}
	return c.Out
}

func (s *Speaker) must(t *testing.T, seed int64, show func(string)) Said {
	t.Helper()
	said, err := s.Reply(context.Background(), seed, 0, "the cat", show)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// TestStopTexts: whatever the text, a reply with a stop text is the same reply, cut before its first occurrence; what is
// shown piece by piece adds up to it, so that no beginning of a stop text was ever shown.
func TestStopTexts(t *testing.T) {
	dir := plainModel(t)
	free := speaker(t, dir, nil)
	for seed := range int64(12) {
		full := free.must(t, seed, nil)
		runes := []rune(full.Text)
		for length := 1; length <= 3; length++ {
			at := len(runes) * int(seed) / 12
			if at+length > len(runes) {
				continue
			}
			stop := string(runes[at : at+length])
			if strings.ContainsRune(stop, utf8.RuneError) {
				continue // the bytes behind it may complete a character
			}
			shown := ""
			cut := speaker(t, dir, func(c *Config) { c.Stop = []string{"never said", stop} }).must(t, seed, func(s string) { shown += s })
			want := full.Text[:strings.Index(full.Text, stop)]
			if cut.Text != want || shown != want || cut.Finish != string(traj.FinishStop) {
				t.Errorf("seed %d, stop %q: %q, shown %q, %s; want %q of %q", seed, stop, cut.Text, shown, cut.Finish, want, full.Text)
			}
			if !slices.Equal(cut.IDs, full.IDs[:len(cut.IDs)]) || !slices.Equal(cut.Logp, full.Logp[:len(cut.Logp)]) {
				t.Errorf("seed %d, stop %q: other tokens were sampled", seed, stop)
			}
		}
	}
}

// TestHeldTextIsShownAtTheEnd: what might have begun a stop text is part of the reply when it did not.
func TestHeldTextIsShownAtTheEnd(t *testing.T) {
	dir := plainModel(t)
	free := speaker(t, dir, nil)
	tried := 0
	for seed := range int64(12) {
		full := free.must(t, seed, nil)
		last, _ := utf8.DecodeLastRuneInString(full.Text)
		if last == utf8.RuneError {
			continue // the reply ends inside a character
		}
		tried++
		shown := ""
		held := speaker(t, dir, func(c *Config) { c.Stop = []string{string(last) + "and more"} }).must(t, seed, func(s string) { shown += s })
		if held.Text != full.Text || shown != full.Text || held.Finish != full.Finish {
			t.Errorf("seed %d: %q, shown %q; want %q", seed, held.Text, shown, full.Text)
		}
	}
	if tried == 0 {
		t.Error("no reply ended with a character")
	}
}

// TestShowThatPanics ends the reply that it shows. The model goes on.
func TestShowThatPanics(t *testing.T) {
	for name, dir := range map[string]string{"text": plainModel(t), "chat": tinyModel(t, func(*models.InitConfig) {})} {
		s := speaker(t, dir, nil)
		broken := ""
		for seed := range int64(12) {
			_, err := s.Reply(context.Background(), seed, 0, "the cat", func(string) { panic("no screen") })
			if err != nil {
				broken = err.Error()
			}
		}
		if !strings.Contains(broken, "panic: no screen") {
			t.Errorf("%s: the last error was %q", name, broken)
		}
		if s.must(t, 1, nil).Text == "" {
			t.Errorf("%s: nothing was said afterwards", name)
		}
	}
}

// TestConversationKeepsItsTokens: every turn continues the ids of the last one, also behind a reply that the user stopped.
func TestConversationKeepsItsTokens(t *testing.T) {
	s := speaker(t, tinyModel(t, func(*models.InitConfig) {}), func(c *Config) { c.System = "the bird" })
	aborted := 0
	for ordinal := range int64(6) {
		c := s.Converse(ordinal, 0)
		var before []int32
		for turn := range 3 {
			said := stoppedAt(t, c, turn == 1)
			if said.Turn != turn || !slices.Equal(said.PromptIDs[:len(before)], before) {
				t.Errorf("turn %d is %d and does not continue its ids", turn, said.Turn)
			}
			if said.Finish == string(traj.FinishAbort) {
				aborted++
			}
			before = slices.Concat(said.PromptIDs, said.IDs)
		}
	}
	if aborted == 0 {
		t.Error("no reply was stopped")
	}
}

// stoppedAt says something and stops the reply, if asked to, once two pieces of it are heard.
func stoppedAt(t *testing.T, c *Conversation, stopped bool) Said {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	pieces := 0
	said, err := c.Say(ctx, "the dog", func(string) {
		if pieces++; stopped && pieces == 2 {
			stop()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// TestStoppedBeforeItBegan: a reply without a token leaves the conversation as it was.
func TestStoppedBeforeItBegan(t *testing.T) {
	s := speaker(t, tinyModel(t, func(*models.InitConfig) {}), nil)
	c := s.Converse(1, 0)
	if _, err := c.Say(context.Background(), "the dog", nil); err != nil {
		t.Fatal(err)
	}
	heard := slices.Clone(c.messages)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	said, err := c.Say(ctx, "the cat", nil)
	if err != nil || said.Finish != string(traj.FinishAbort) || len(said.IDs) > 0 || said.Message != nil {
		t.Fatalf("%+v, %v", said, err)
	}
	if len(c.messages) != len(heard) {
		t.Errorf("%d messages, want %d", len(c.messages), len(heard))
	}
	if _, err := c.Say(context.Background(), "the bird", nil); err != nil {
		t.Error(err)
	}
}

func TestConversationFillsUp(t *testing.T) {
	s := speaker(t, tinyModel(t, func(c *models.InitConfig) { c.Shape.MaxPositionEmbeddings = 96 }), nil)
	c := s.Converse(1, 0)
	for range 20 {
		if _, err := c.Say(context.Background(), "the dog and the cat", nil); err != nil {
			if err.Error() != "the conversation is full: it may have 96 tokens" {
				t.Error(err)
			}
			return
		}
	}
	t.Error("twenty turns fit into 96 tokens")
}

// TestPlayShop: the environment answers and grades; its prices follow the seed.
func TestPlayShop(t *testing.T) {
	s := speaker(t, tinyModel(t, func(*models.InitConfig) {}), func(c *Config) {
		c.MaxTokens, c.World = 3, &World{Name: shopName, New: shop.New, Turns: 4, Step: time.Minute}
	})
	e, err := s.Play(context.Background(), 1, 0, "What do 3 pens and 2 cups cost?", Watcher{})
	if err != nil {
		t.Fatal(err)
	}
	pen, cup := s.price(1, "pen"), s.price(1, "cup")
	if e.Total != 3*pen+2*cup || pen < 2 || pen > 9 || e.Reward != 0 || len(e.Replies) == 0 {
		t.Errorf("%+v at %d and %d", e, pen, cup)
	}
	for _, question := range []string{"", "What?", "What do 9 pens cost?", "What do 3 unicorns cost?", "3 pens and 2 pens"} {
		if _, err := s.Play(context.Background(), 1, 0, question, Watcher{}); err == nil {
			t.Errorf("%q was played", question)
		}
	}
}

// parrot is an environment with a tool: it ends when its label was said.
type parrot struct{ label string }

func (p *parrot) Reset(_ context.Context, t agent.Task) (agent.Start, error) {
	if t.Label == "" {
		return agent.Start{}, errors.New("parrot: no label")
	}
	p.label = t.Label
	return agent.Start{Messages: t.Messages, Tools: []chat.ToolSpec{chat.NewToolSpec("squawk", "Squawks.", chat.Object())}}, nil
}

func (p *parrot) Step(_ context.Context, a agent.Action) (agent.Result, error) {
	said := p.label == "anything" || strings.Contains(a.Text, p.label)
	r := agent.Result{Terminated: said, Observation: []chat.Message{{Role: chat.User, Content: "again"}}, Info: map[string]float64{"turn": float64(a.Turn)}}
	if said {
		r.Reward = 1
	}
	return r, nil
}

func (p *parrot) Close() error { return nil }

// TestPlayAny: any environment plays: the model is offered its tools, turns are bounded, what fails is said.
func TestPlayAny(t *testing.T) {
	dir := tinyModel(t, func(c *models.InitConfig) { c.Shape.MaxPositionEmbeddings = 1024 })
	for label, want := range map[string]Episode{
		"anything":          {Reward: 1, Info: map[string]float64{"turn": 0}},
		"never said \u2603": {Truncated: true, Info: map[string]float64{"turn": 1}},
	} {
		s := speaker(t, dir, func(c *Config) {
			c.MaxTokens, c.World = 3, &World{Name: "parrot", New: func() agent.Env { return &parrot{} }, Label: label, Turns: 2, Step: time.Minute}
		})
		e, err := s.Play(context.Background(), 1, 0, "Hello?", Watcher{})
		if err != nil || e.Reward != want.Reward || e.Truncated != want.Truncated || e.Info["turn"] != want.Info["turn"] || len(e.Replies) != int(want.Info["turn"])+1 {
			t.Fatalf("%s: %+v %v", label, e, err)
		}
		if shown := s.model.Tok.Decode(e.Replies[0].PromptIDs); !strings.Contains(shown, "squawk") {
			t.Errorf("the model was shown %q", shown)
		}
	}
	s := speaker(t, dir, func(c *Config) {
		c.World = &World{Name: "parrot", New: func() agent.Env { return &parrot{} }, Turns: 2, Step: time.Minute}
	})
	if _, err := s.Play(context.Background(), 1, 0, "Hello?", Watcher{}); err == nil || !strings.Contains(err.Error(), "parrot: no label") {
		t.Error(err)
	}
}
