package recipe

import (
	"reflect"
	"strings"
	"testing"

	"molt/agent"
)

type dice struct {
	Sides int      `yaml:"sides" help:"of the die" range:"[2,100]"`
	Rules []string `yaml:"rules" help:"what to play by"`
	House struct {
		Cut float64 `yaml:"cut" help:"what the house keeps" range:"[0,1]"`
	} `yaml:"house"`
}

func init() {
	agent.Register("dice", "throws dice", dice{Sides: 6}, func(dice) (func() agent.Env, error) { return nil, nil })
	agent.Register("answer", "has no settings", struct{}{}, func(struct{}) (func() agent.Env, error) { return nil, nil })
}

// TestSettingsOfEnvironments: they are set, checked, written and read back like all others, and reach their environment.
func TestSettingsOfEnvironments(t *testing.T) {
	c := Defaults()
	settings := Settings(&c)
	name := Find(settings, "agent.name")
	if got := strings.Join(name.Enum, ","); got != "answer,dice" || !strings.Contains(name.Help, "answer (has no settings), dice (throws dice)") {
		t.Errorf("agent.name may be %s: %s", got, name.Help)
	}
	text := "agent:\n  name: dice\n  dice:\n    sides: 20\n    rules: [fair, fast]\n    house:\n      cut: 0.1\n"
	if err := apply("r.yaml", text, settings); err != nil {
		t.Fatal(err)
	}
	kind, _ := agent.KindOf("dice")
	if got := c.Agent.Own(kind).(*dice); got.Sides != 20 || len(got.Rules) != 2 || got.House.Cut != 0.1 {
		t.Errorf("the environment is given %+v", got)
	}
	again := Defaults()
	if err := apply("config.yaml", Write(settings), Settings(&again)); err != nil {
		t.Fatal(err)
	}
	if got := again.Agent.Own(kind).(*dice); got.Sides != 20 || got.House.Cut != 0.1 {
		t.Errorf("written and read back: %+v", got)
	}
	if other := Defaults(); other.Agent.Own(kind).(*dice).Sides != 6 {
		t.Error("one run's settings are another's")
	}
	for _, c := range []struct{ text, want string }{
		{"agent:\n  dice:\n    sides: 1\n", "agent.dice.sides wants [2,100], not 1"},
		{"agent:\n  dice:\n    side: 7\n", `unknown key "agent.dice.side"; did you mean agent.dice.sides?`},
		{"agent:\n  name: dicee\n", `agent.name wants one of answer, dice, not "dicee"; did you mean dice?`},
	} {
		fresh := Defaults()
		if err := apply("r.yaml", c.text, Settings(&fresh)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %s", c.text, err, c.want)
		}
	}
}

// TestNamesOfEnvironmentsThatAreTaken: their settings would be those of another.
func TestNamesOfEnvironmentsThatAreTaken(t *testing.T) {
	c := Defaults()
	list := settingsOf(reflect.ValueOf(&c).Elem(), "")
	for name, want := range map[string]bool{"timeout": true, "max_turns": true, "dice": false, "time": false} {
		if taken(list, name) != want {
			t.Errorf("%s: taken is %v", name, !want)
		}
	}
}

// TestSettingsOfOtherEnvironmentsAreRefused: a run should mean what its configuration says.
func TestSettingsOfOtherEnvironmentsAreRefused(t *testing.T) {
	for name, want := range map[string]string{"dice": "", "answer": "agent.dice.sides: it has no effect: nothing but agent.name dice reads it"} {
		c := Defaults()
		c.Data.Prompts = []string{"x"}
		if err := Find(Settings(&c), "agent.dice.sides").Set("20", "flag"); err != nil {
			t.Fatal(err)
		}
		c.Agent.Name = name
		var got []string
		c.Unread(nil, func(setting, why, _ string) { got = append(got, setting+": "+why) })
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: refused %q; want %q", name, got, want)
		}
	}
}
