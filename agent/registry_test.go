package agent

import (
	"errors"
	"strings"
	"testing"
)

type guessing struct {
	Words int       `yaml:"words" help:"length of the secret" range:">=1"`
	List  []float64 `yaml:"list" help:"numbers"`
	Deep  struct {
		On bool `yaml:"on" help:"a switch"`
	} `yaml:"deep"`
}

func TestRegister(t *testing.T) {
	var got guessing
	Register("guessing", "guesses", guessing{Words: 3}, func(s guessing) (func() Env, error) {
		got = s
		if s.Words == 13 {
			return nil, errors.New("unlucky")
		}
		if s.Words == 14 {
			return nil, nil
		}
		return newWorldEnv, nil
	})
	k, ok := KindOf("guessing")
	if !ok || k.Does != "guesses" {
		t.Fatal(k, ok)
	}
	names := ""
	for _, k := range Kinds() {
		names += k.Name + " "
	}
	if !strings.Contains(names, "guessing ") {
		t.Errorf("kinds %q", names)
	}
	chosen := k.Settings().(*guessing)
	if chosen.Words != 3 {
		t.Errorf("defaults %+v", chosen)
	}
	chosen.Words, chosen.Deep.On = 5, true
	create, err := k.Open(chosen)
	if err != nil || create() == nil || got.Words != 5 || !got.Deep.On {
		t.Errorf("opened with %+v, %v", got, err)
	}
	if again := k.Settings().(*guessing); again.Words != 3 {
		t.Errorf("the defaults became %+v", again)
	}
	chosen.Words = 13
	if _, err := k.Open(chosen); err == nil || err.Error() != "unlucky" {
		t.Error(err)
	}
	chosen.Words = 14
	if _, err := k.Open(chosen); err == nil || !strings.Contains(err.Error(), "nothing to make environments with") {
		t.Error(err)
	}
	if _, ok := KindOf("guess"); ok {
		t.Error("found what nobody registered")
	}
}

func TestRegisterRefuses(t *testing.T) {
	type (
		noTag  struct{ Words int }
		noHelp struct {
			Words int `yaml:"words"`
		}
		noKind struct {
			Words map[string]int `yaml:"words" help:"x"`
		}
		hidden struct {
			words int `yaml:"words" help:"x"`
		}
		twice struct {
			A int `yaml:"words" help:"x"`
			B int `yaml:"words" help:"x"`
		}
	)
	_ = hidden{words: 1}
	Register("taken", "x", struct{}{}, openNothing[struct{}])
	for want, register := range map[string]func(){
		"lower-case letters":                   func() { Register("Guess Me", "x", struct{}{}, openNothing[struct{}]) },
		"the name is taken":                    func() { Register("taken", "x", struct{}{}, openNothing[struct{}]) },
		"settings are a struct, not int":       func() { Register("a", "x", 3, openNothing[int]) },
		"field Words of agent.noTag":           func() { Register("a", "x", noTag{}, openNothing[noTag]) },
		"needs a line of help":                 func() { Register("a", "x", noHelp{}, openNothing[noHelp]) },
		"can have type map":                    func() { Register("a", "x", noKind{}, openNothing[noKind]) },
		"field words of agent.hidden: it must": func() { Register("a", "x", hidden{}, openNothing[hidden]) },
		"field B of agent.twice":               func() { Register("a", "x", twice{}, openNothing[twice]) },
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(p.(string), want) {
					t.Errorf("panicked with %v; want %q", p, want)
				}
			}()
			register()
		}()
	}
	if _, ok := KindOf("a"); ok {
		t.Error("what was refused is registered")
	}
}

func openNothing[S any](S) (func() Env, error) { return newWorldEnv, nil }

func TestRegisterChat(t *testing.T) {
	var got guessing
	RegisterChat("guessing_chat", "guesses over HTTP", guessing{Words: 4}, func(s guessing) (func() ChatAgent, error) {
		if got = s; s.Words == 14 {
			return nil, nil
		}
		return func() ChatAgent { return nil }, nil
	})
	k, ok := KindOf("guessing_chat")
	if !ok || !k.IsChat() || k.Does != "guesses over HTTP" {
		t.Fatal(k, ok)
	}
	chosen := k.Settings().(*guessing)
	if create, err := k.OpenChat(chosen); err != nil || create == nil || got.Words != 4 {
		t.Errorf("opened with %+v, %v", got, err)
	}
	if _, err := k.Open(chosen); err == nil || !strings.Contains(err.Error(), "is a chat agent") {
		t.Error(err)
	}
	chosen.Words = 14
	if _, err := k.OpenChat(chosen); err == nil || !strings.Contains(err.Error(), "nothing to make agents with") {
		t.Error(err)
	}
	Register("no_chat", "an environment", struct{}{}, func(struct{}) (func() Env, error) { return newWorldEnv, nil })
	env, _ := KindOf("no_chat")
	if _, err := env.OpenChat(env.Settings()); err == nil || env.IsChat() || !strings.Contains(err.Error(), "is an environment") {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("one name for an environment and a chat agent")
		}
	}()
	RegisterChat("no_chat", "again", struct{}{}, func(struct{}) (func() ChatAgent, error) { return nil, nil })
}
