package rehearse

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"molt/engine"
	_ "molt/run" // registers agents
	"molt/run/recipe"
	"molt/traj"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A conversation is told once: what a session has seen is not shown again, and another conversation is shown whole.
func TestNews(t *testing.T) {
	h := &heard{shown: map[string][]int32{}}
	c := Config{}
	if err := c.standIn(h); err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ids := func(text string) []int32 { return h.model.Tok.EncodeSpecial(text) }
	h.shown["a"] = ids("one")
	for _, test := range []struct{ session, prompt, want string }{
		{"a", "one two", " two"}, {"a", "two", "two"}, {"a", "on", "on"}, {"b", "one two", "one two"},
	} {
		prompt := append(ids("one"), ids(" two")...)
		if test.prompt != "one two" {
			prompt = ids(test.prompt)
		}
		if got := h.news(engine.Request{Session: test.session, Prompt: prompt}); got != test.want {
			t.Errorf("%s shown %q: %q; want %q", test.session, test.prompt, got, test.want)
		}
	}
}

// Whoever has nothing more to say ends the rehearsal, and what was played is told.
func TestNothingToSay(t *testing.T) {
	spent := errors.New("nothing to say")
	for _, name := range []string{"answer", "shop_chat"} {
		cfg := recipe.Defaults()
		cfg.Agent.Name = name
		var story strings.Builder
		played, err := Play(t.Context(), Config{
			Recipe: &cfg, Prompt: "2+2?", Label: `{"buy": [{"quantity": 2, "item": "pen", "price": 3}], "total": 6}`, Out: &story,
			Say: func(context.Context) (string, error) { return "", spent },
		})
		if !errors.Is(err, spent) || len(played) != 1 || played[0].Outcome.Graded() {
			t.Errorf("%s: %v, %+v", name, err, played)
		}
		if n, first := Failed(played); n != 1 || !strings.HasPrefix(first, string(traj.Cancelled)) || !strings.Contains(story.String(), "2+2?") {
			t.Errorf("%s: %d failed, %q\n%s", name, n, first, &story)
		}
	}
}
