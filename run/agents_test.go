package run

import (
	"errors"
	"testing"

	"molt/agent"
	"molt/run/leg"
	"molt/run/problem"
	"molt/run/recipe"
)

// paid is vowels with a reward of its own setting.
type paid struct {
	Pay float64 `yaml:"pay" help:"for a reply" range:">=0"`
}

var opened []paid // with which settings, by the tests of this file

func init() {
	agent.Register("paid", "of the tests", paid{Pay: 1}, func(p paid) (func() agent.Env, error) {
		opened = append(opened, p)
		if p.Pay == 13 {
			return nil, errors.New("13 brings no luck")
		}
		return func() agent.Env { return &rich{times: p.Pay} }, nil
	})
}

// TestARegisteredEnvironmentIsPlayed with the settings that were chosen for it, prepared once for all of its rollouts.
func TestARegisteredEnvironmentIsPlayed(t *testing.T) {
	c := microRL(t)
	c.Agent.Name, c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = "paid", nil, 0, false
	settings := recipe.Settings(c)
	if err := recipe.Find(settings, "agent.paid.pay").Set("0.25", "flag"); err != nil {
		t.Fatal(err)
	}
	opened = nil
	result, err := RL(t.Context(), c, settings, leg.View{})
	if err != nil {
		t.Fatal(err)
	}
	if len(opened) != 1 || opened[0].Pay != 0.25 || result.Steps == 0 {
		t.Errorf("opened with %v, %d steps", opened, result.Steps)
	}
}

func TestAnEnvironmentMayRefuseItsSettings(t *testing.T) {
	c := microRL(t)
	c.Agent.Name = "paid"
	kind, _ := agent.KindOf("paid")
	c.Agent.Own(kind).(*paid).Pay = 13
	_, err := RL(t.Context(), c, recipe.Settings(c), leg.View{})
	wantProblem(t, err, problem.Setting, "13 brings no luck")
	c = microRL(t)
	c.Agent.Name = "nobody"
	_, err = RL(t.Context(), c, recipe.Settings(c), leg.View{})
	wantProblem(t, err, problem.Setting, `no agent "nobody" in this program`)
}
