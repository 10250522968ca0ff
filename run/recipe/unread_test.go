package recipe

import (
	"strings"
	"testing"
)

func TestEvalRefusesWhatItDoesNotRead(t *testing.T) {
	cfg := Defaults()
	settings := Settings(&cfg)
	set := func(name, text, source string) {
		t.Helper()
		if err := Find(settings, name).Set(text, source); err != nil {
			t.Fatal(err)
		}
	}
	set("eval.temperature", "0", "flag")
	set("rollout.max_len", "64", "flag")
	set("actor.adam.lr", "0.1", "recipe.yaml:3") // the recipe of a run is a good one for an evaluation
	if err := CheckEval(&cfg, settings); err != nil {
		t.Fatal(err)
	}
	set("train.steps", "3", "flag")
	set("algo.advantage.estimator", "rloo", "flag")
	err := CheckEval(&cfg, settings)
	if err == nil || !strings.Contains(err.Error(), "train.steps: it has no effect") || !strings.Contains(err.Error(), "algo.advantage.estimator: it has no effect") {
		t.Errorf("got %v; want both flags refused", err)
	}
}

// TestFlagsThatSayTheDefault: a flag is refused for what it is, whatever it says; a recipe that says what is the case is not.
func TestFlagsThatSayTheDefault(t *testing.T) {
	for source, want := range map[string]string{"flag": "agent.dice.sides: it has no effect: nothing but agent.name dice reads it", "config.yaml:3": ""} {
		cfg := Defaults()
		settings := Settings(&cfg)
		s := Find(settings, "agent.dice.sides")
		if err := s.Set(s.Text(), source); err != nil {
			t.Fatal(err)
		}
		for name, check := range map[string]func(*Config, []*Setting) error{"rl": CheckFlags, "eval": CheckEval, "serve": CheckAgent, "try": CheckTry} {
			err := check(&cfg, settings)
			if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s, from %s: %v; want %q", name, source, err, want)
			}
		}
	}
}

func TestReadersNameSettings(t *testing.T) {
	cfg := Defaults()
	settings := Settings(&cfg)
	known := func(name string) bool {
		for _, s := range settings {
			if s.Name == name || strings.HasSuffix(name, ".") && strings.HasPrefix(s.Name, name) {
				return true
			}
		}
		return false
	}
	for _, r := range readers {
		if !known(r.setting) {
			t.Errorf("readers: no setting %s", r.setting)
		}
	}
	for _, name := range readByEval {
		if !known(name) {
			t.Errorf("readByEval: no setting %s", name)
		}
	}
}
