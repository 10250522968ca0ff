// What settings may not say together, in configurations drawn at random.

package run

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"molt/run/problem"
	"molt/run/recipe"
)

// TestRefusalsNameSettings draws configurations at random: whatever is refused, the sentence names a setting that exists.
func TestRefusalsNameSettings(t *testing.T) {
	slow(t)
	random := rand.New(rand.NewPCG(1, 1))
	seen, idle := map[string]int{}, []string{}
	for range 1200 {
		c := randomConfig(random)
		p := &rlPlan{cfg: &c}
		for _, err := range each(p.settings()) {
			q, ok := errors.AsType[*problem.Problem](err)
			if !ok || recipe.Find(recipe.Settings(&c), q.Where) == nil || q.Fix == "" || q.Code != problem.Combined {
				t.Fatalf("refused with %v", err)
			}
			seen[q.Where]++
			if strings.HasPrefix(q.What, "it has no effect: nothing but") {
				idle = append(idle, q.Where)
			}
		}
	}
	for _, name := range []string{
		"data.prompt_dataset", "data.prompt_probs", "rollout.batch_size", "rollout.max_new_tokens", "train.batch_size",
		"eval.dataset", "ckpt.best_metric_key", "reward.clip_range", "algo.advantage.estimator", "algo.advantage.gamma",
		"algo.advantage.no_whiten", "algo.advantage.is_correction_level", "algo.advantage.is_correction_mode",
		"algo.advantage.is_correction_threshold", "actor.dual_clip", "algo.kl.estimator", "algo.kl.use_loss", "algo.kl.target",
		"algo.dynamic_filtering_range", "algo.dynamic_filtering_enable",
	} {
		if seen[name] == 0 {
			t.Errorf("%s was never refused", name)
		}
	}
	for _, r := range regexp.MustCompile(`(?m)^\t\{"([a-z_.]+)", "`).FindAllStringSubmatch(string(read(t, "recipe/unread.go")), -1) {
		if !slices.ContainsFunc(idle, func(name string) bool { return strings.HasPrefix(name, r[1]) }) {
			t.Errorf("%s was never refused for having no effect", r[1])
		}
	}
}

// each lists joined errors.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// randomConfig sets about a third of the settings to values that they accept.
func randomConfig(random *rand.Rand) recipe.Config {
	c := recipe.Defaults()
	for _, s := range recipe.Settings(&c) {
		if random.IntN(3) == 0 {
			_ = s.Set(randomText(random, s), "test") // what is out of range stays as it was
		}
	}
	return c
}

func randomText(random *rand.Rand, s *recipe.Setting) string {
	number := func() string {
		return []string{"0", "1", "2", "0.5", "0.2", "5", "-1", "3", "300", "100000"}[random.IntN(10)]
	}
	switch {
	case s.IsBool():
		return fmt.Sprint(random.IntN(2) == 0)
	case len(s.Enum) > 0:
		return s.Enum[random.IntN(len(s.Enum))]
	case s.Len == 2:
		return number() + "," + number()
	case random.IntN(3) == 0:
		return "1,1" // a list, and no number
	}
	return number()
}

// TestDefaultsSayNothingIdle: what a user did not set is never refused.
func TestDefaultsSayNothingIdle(t *testing.T) {
	c := recipe.Defaults()
	c.Data.Prompts = []string{"x"}
	if err := (&rlPlan{cfg: &c}).settings(); err != nil {
		t.Error(err)
	}
	q := &quickstart{QuickstartConfig: QuickstartConfig{Out: "q"}}
	rl := q.rlConfig()
	if err := (&rlPlan{cfg: &rl}).settings(); err != nil {
		t.Error(err)
	}
}

// TestNumbersOutOfRange: whatever a number may be, a value beyond is refused with the range.
func TestNumbersOutOfRange(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"actor.adam.betas", "0.9,1", "wants [0,1), not 1"},
		{"data.prompt_probs", "1,0", "wants >0, not 0"},
		{"rollout.batch_size", "9223372036854775807", "wants at most 1000000000, not 9223372036854775807"},
		{"agent.timeout", "1e300", "wants (0,1000000], not 1e+300"},
		{"engine.in_flight", "100000", "wants [0,65536], not 100000"},
		{"ckpt.max_mem", "1e300", "wants [0,1000000], not 1e+300"},
		{"train.seed", "18446744073709551616", `wants a whole number >= 0, not "18446744073709551616"`},
	}
	for _, c := range cases {
		cfg := recipe.Defaults()
		if err := recipe.Find(recipe.Settings(&cfg), c.name).Set(c.text, "flag"); err == nil || err.Error() != c.want {
			t.Errorf("%s = %s: got %v, want %s", c.name, c.text, err, c.want)
		}
	}
}
