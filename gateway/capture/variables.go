// Variables of the chat template that a request sets, by name or by what its wire has for them.

package capture

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"molt/chat"
	"molt/gateway/wire"
)

// renderers are those under variables. It is safe for concurrent use.
type renderers struct {
	mu   sync.Mutex
	made map[string]*chat.Renderer // by the spelling of the variables; nil where they change nothing
}

// maxRenderers bounds what is kept; when it is full it starts anew.
const maxRenderers = 64

// renderer returns the renderer for a request, and the variables that make it another one than the run's.
func (g *Gateway) renderer(o *wire.Options) (*chat.Renderer, []chat.Member, *wire.Problem) {
	variables, p := g.variables(o)
	if p != nil || len(variables) == 0 {
		return g.config.Renderer, nil, p
	}
	key := chat.Object(variables...).String()
	named := slices.ContainsFunc(o.Variables, func(m chat.Member) bool { return g.known()[m.Name] })
	if named {
		key = "named " + key
	}
	g.renderers.mu.Lock()
	defer g.renderers.mu.Unlock()
	made, ok := g.renderers.made[key]
	if !ok {
		var err error
		if made, err = g.varied(variables, named); err != nil {
			return nil, nil, wire.Badf("chat_template_kwargs", "is %.200s, and the chat template fails: %v", key, err)
		}
		if len(g.renderers.made) >= maxRenderers || g.renderers.made == nil {
			g.renderers.made = map[string]*chat.Renderer{}
		}
		g.renderers.made[key] = made
	}
	if made == nil {
		return g.config.Renderer, nil, nil
	}
	return made, variables, nil
}

// variables lists what a request sets. One that it names must be known to the template, or say nothing.
func (g *Gateway) variables(o *wire.Options) ([]chat.Member, *wire.Problem) {
	if len(o.Variables) == 0 && o.Think == nil && o.Effort == "" {
		return nil, nil
	}
	known := g.known()
	out := slices.DeleteFunc(slices.Clone(o.Variables), func(m chat.Member) bool { return !known[m.Name] && silent(m.Value) })
	for _, m := range out {
		if !known[m.Name] {
			return nil, wire.Badf("chat_template_kwargs", "sets %s, which the model's chat template does not know", m.Name)
		}
	}
	set := func(name string, v chat.Value) {
		if known[name] && !slices.ContainsFunc(out, func(m chat.Member) bool { return m.Name == name }) {
			out = append(out, chat.Member{Name: name, Value: v})
		}
	}
	think := o.Think
	if o.Effort == "none" {
		think = new(bool)
	} else if o.Effort != "" {
		set("reasoning_effort", chat.String(o.Effort))
	}
	if think != nil {
		set("enable_thinking", chat.Bool(*think))
		set("thinking", chat.Bool(*think))
	}
	return out, nil
}

// silent reports whether a variable that a template does not know would say nothing to it.
func silent(v chat.Value) bool {
	return v.Kind() == chat.KindNull || v.Kind() == chat.KindBool && !v.IsTrue()
}

// newKnown are the words of a template, its variables among them.
func newKnown(source string) map[string]bool {
	known := map[string]bool{}
	for word := range strings.FieldsFuncSeq(source, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		known[word] = true
	}
	return known
}

// varied makes a renderer under variables. It is nil when no variable is named by the request, but follows from what its wire has,
// and a small conversation is shown as the run's renderer shows it.
func (g *Gateway) varied(variables []chat.Member, named bool) (*chat.Renderer, error) {
	r, err := g.config.Renderer.With(variables)
	if err != nil || named {
		return r, err
	}
	one := chat.Message{Role: chat.User, Content: "x"}
	said := chat.Message{Role: chat.Assistant, Content: "y", Reasoning: "z"}
	for _, c := range []chat.Conversation{
		{Messages: []chat.Message{one}},
		{Messages: []chat.Message{one, said, one}, Tools: []chat.ToolSpec{chat.NewToolSpec("f", "", chat.Object())}},
	} {
		a, errA := r.Prompt(c)
		b, errB := g.config.Renderer.Prompt(c)
		if fmt.Sprint(errA) != fmt.Sprint(errB) || !slices.Equal(a.IDs, b.IDs) {
			return r, nil
		}
	}
	return nil, nil
}
