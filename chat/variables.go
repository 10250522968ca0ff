// Templates whose variables a conversation may set, such as enable_thinking.

package chat

import (
	"fmt"
	"slices"
)

// Varied is a template with variables.
type Varied interface {
	Template
	Source() string // where variables are named
	With(variables []Member) Template
}

// With returns the template with variables set, whatever they were before.
func (t *Jinja) With(variables []Member) Template {
	out := *t
	out.options.Kwargs = slices.Concat(t.options.Kwargs, variables)
	return &out
}

// With returns the templates with variables set in each.
func (t *Templates) With(variables []Member) Template {
	out := &Templates{named: map[string]*Jinja{}, chosen: t.chosen}
	for name, one := range t.named {
		out.named[name] = one.With(variables).(*Jinja)
	}
	return out
}

// Variables returns the text in which the template names its variables; "" when it has none.
func (r *Renderer) Variables() string {
	if t, ok := r.template.(Varied); ok {
		return t.Source()
	}
	return ""
}

// With returns a renderer whose template has variables set. It tries the template anew: what was proven may not hold.
func (r *Renderer) With(variables []Member) (*Renderer, error) {
	t, ok := r.template.(Varied)
	if !ok {
		return nil, fmt.Errorf("chat: the chat template has no variables")
	}
	out, err := NewRenderer(t.With(variables), r.tok)
	if err != nil {
		return nil, err
	}
	out.read = r.read
	return out, nil
}
