// The environments and chat agents of a program, by the names under which recipes and flags ask for them.

package agent

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sync"
)

// Kind is a registered environment or chat agent.
type Kind struct {
	Name string // of agent.name
	Does string // a line for people

	settings func() any
	open     func(settings any) (func() Env, error)       // nil for a chat agent
	openChat func(settings any) (func() ChatAgent, error) // nil for an environment
}

// Register makes an environment known: `agent.name: NAME` in a recipe then plays it. Call it before molt's command line starts;
// a name that is taken, or not lower case, is the programmer's mistake and panics.
//
// S is a struct of settings, struct{} for none. Each field is a setting agent.NAME.KEY of flags and recipes, with the value it
// has in defaults. Its tags say the rest, as in run/recipe/config.go:
//
//	Words int `yaml:"words" help:"length of the secret" unit:"words" range:">=1"`
//
// Fields are strings, bools, ints, uint64s, float64s, slices of these, or structs. open is called once, before the first token
// of a run, with what the user chose: an error refuses the run. What it returns makes the Env of each rollout.
func Register[S any](name, does string, defaults S, open func(S) (func() Env, error)) {
	register[S](Kind{
		Name: name, Does: does,
		settings: func() any { return new(defaults) },
		open:     func(settings any) (func() Env, error) { return open(*settings.(*S)) },
	})
}

// RegisterChat makes a chat agent known, as Register does an environment. What open returns makes the ChatAgent of each
// rollout, which reaches the policy over HTTP.
func RegisterChat[S any](name, does string, defaults S, open func(S) (func() ChatAgent, error)) {
	register[S](Kind{
		Name: name, Does: does,
		settings: func() any { return new(defaults) },
		openChat: func(settings any) (func() ChatAgent, error) { return open(*settings.(*S)) },
	})
}

func register[S any](k Kind) {
	if err := checkKind(k.Name, reflect.TypeFor[S]()); err != nil {
		panic("agent: register " + k.Name + ": " + err.Error())
	}
	kindsMu.Lock()
	defer kindsMu.Unlock()
	if _, taken := kinds[k.Name]; taken {
		panic("agent: register " + k.Name + ": the name is taken")
	}
	kinds[k.Name] = k
}

var (
	kindsMu sync.RWMutex // guards kinds
	kinds   = map[string]Kind{}
)

// Kinds lists what is registered, by name.
func Kinds() []Kind {
	kindsMu.RLock()
	defer kindsMu.RUnlock()
	var list []Kind
	for _, k := range kinds {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// KindOf finds what is registered under a name.
func KindOf(name string) (Kind, bool) {
	kindsMu.RLock()
	defer kindsMu.RUnlock()
	k, ok := kinds[name]
	return k, ok
}

// Settings returns a pointer to a new struct of the kind's settings, with their defaults.
func (k Kind) Settings() any { return k.settings() }

// IsChat reports whether the kind is a chat agent.
func (k Kind) IsChat() bool { return k.openChat != nil }

// Open prepares the environment with settings, which Settings made. What it returns makes the Env of each rollout.
func (k Kind) Open(settings any) (func() Env, error) {
	if k.IsChat() {
		return nil, fmt.Errorf("agent: %s is a chat agent; want an environment", k.Name)
	}
	create, err := k.open(settings)
	if err == nil && create == nil {
		err = fmt.Errorf("agent: %s: open returned nothing to make environments with", k.Name)
	}
	return create, err
}

// OpenChat prepares the chat agent, as Open does an environment.
func (k Kind) OpenChat(settings any) (func() ChatAgent, error) {
	if !k.IsChat() {
		return nil, fmt.Errorf("agent: %s is an environment; want a chat agent", k.Name)
	}
	create, err := k.openChat(settings)
	if err == nil && create == nil {
		err = fmt.Errorf("agent: %s: open returned nothing to make agents with", k.Name)
	}
	return create, err
}

// Checker is an Env that can say of a task, before a run begins and without Reset, that it cannot play it. What it refuses, it
// would refuse in every rollout.
type Checker interface {
	Check(ctx context.Context, task Task) error
}

var kindName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func checkKind(name string, settings reflect.Type) error {
	if !kindName.MatchString(name) {
		return fmt.Errorf("a name has lower-case letters, digits and _, and begins with a letter")
	}
	if settings.Kind() != reflect.Struct {
		return fmt.Errorf("settings are a struct, not %v", settings)
	}
	return checkFields(settings)
}

func checkFields(settings reflect.Type) error {
	seen := map[string]bool{}
	for f := range settings.Fields() {
		key := f.Tag.Get("yaml")
		of := f.Type
		if of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		switch {
		case !f.IsExported() || !kindName.MatchString(key) || seen[key]:
			return fmt.Errorf("field %s of %v: it must be exported and have a tag like `yaml:\"words\"`, no two the same", f.Name, settings)
		case f.Type.Kind() == reflect.Struct:
			if err := checkFields(f.Type); err != nil {
				return err
			}
		case !slices.Contains([]reflect.Kind{reflect.String, reflect.Bool, reflect.Int, reflect.Uint64, reflect.Float64}, of.Kind()):
			return fmt.Errorf("field %s of %v: no setting can have type %v", f.Name, settings, f.Type)
		case f.Tag.Get("help") == "":
			return fmt.Errorf("field %s of %v: it needs a line of help, as in `help:\"what it changes\"`", f.Name, settings)
		}
		seen[key] = true
	}
	return nil
}
