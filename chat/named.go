// Models with several templates: a list in tokenizer_config.json, or files in additional_chat_templates/.

package chat

import (
	"fmt"
	"slices"
	"strings"
)

// Source is the text of a template under its name. The one of chat_template.jinja is called "default".
type Source struct{ Name, Text string }

// DefaultTemplate and ToolTemplate are the names that choose themselves.
const (
	DefaultTemplate = "default"
	ToolTemplate    = "tool_use"
)

// DecodeSources reads the member chat_template of tokenizer_config.json: a text, or a list of {"name", "template"}.
func DecodeSources(v Value) ([]Source, error) {
	switch v.Kind() {
	case KindNull:
		return nil, nil
	case KindString:
		return []Source{{DefaultTemplate, v.Text()}}, nil
	case KindArray:
	default:
		return nil, fmt.Errorf("chat: chat_template is of type %s; want a string or a list of named templates", v.Kind())
	}
	var out []Source
	for i, item := range v.Items() {
		name, _ := item.Get("name")
		text, _ := item.Get("template")
		if name.Text() == "" || text.Kind() != KindString {
			return nil, fmt.Errorf(`chat: chat_template %d is %.60s; want {"name": …, "template": …}`, i, item)
		}
		if slices.ContainsFunc(out, func(s Source) bool { return s.Name == name.Text() }) {
			return nil, fmt.Errorf("chat: two chat templates are called %.60q", name.Text())
		}
		out = append(out, Source{name.Text(), text.Text()})
	}
	return out, nil
}

// Templates are the templates of one model. Render chooses as transformers does: the one that was named, else the one for
// tools where tools are offered, else the default one.
type Templates struct {
	named  map[string]*Jinja
	chosen string // "" for none
}

// NewTemplates compiles all templates. chosen names the one to use, whatever is offered; "" chooses for each conversation.
func NewTemplates(sources []Source, chosen string, o JinjaOptions) (*Templates, error) {
	t := &Templates{named: map[string]*Jinja{}, chosen: chosen}
	var names []string
	for _, s := range sources {
		compiled, err := NewJinja(s.Text, o)
		if err != nil {
			return nil, fmt.Errorf("chat: the template %.60q: %w", s.Name, err)
		}
		t.named[s.Name] = compiled
		names = append(names, s.Name)
	}
	want := chosen
	if want == "" {
		want = DefaultTemplate
	}
	if t.named[want] == nil {
		return nil, fmt.Errorf("chat: no chat template is called %.60q; there are %s", want, strings.Join(names, ", "))
	}
	return t, nil
}

// Render implements Template.
func (t *Templates) Render(c Conversation, generate bool) (string, error) {
	return t.For(len(c.Tools) > 0).Render(c, generate)
}

// For is the template of conversations with tools or without.
func (t *Templates) For(tools bool) *Jinja {
	if t.chosen != "" {
		return t.named[t.chosen]
	}
	if tool := t.named[ToolTemplate]; tool != nil && tools {
		return tool
	}
	return t.named[DefaultTemplate]
}

// Source returns the text that shows how calls are written.
func (t *Templates) Source() string { return t.For(true).Source() }
