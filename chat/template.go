// Chat templates: how a model's authors turn a conversation into one text.

package chat

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"molt/chat/jinja"
)

// Template renders a conversation. It is safe for concurrent use.
type Template interface {
	// Render returns the text of the conversation, ending where the assistant speaks next when generate is true.
	Render(c Conversation, generate bool) (string, error)
}

// JinjaOptions are what a template can see besides the conversation.
type JinjaOptions struct {
	BOS, EOS string    // bos_token and eos_token; "" for a model that has none
	Now      time.Time // what strftime_now tells, one for a whole run; zero: there is no such function, and Llama's templates show a date of their own
	Kwargs   []Member  // further variables, such as enable_thinking
}

// Jinja is a chat_template as Hugging Face models carry it, rendered as transformers renders it.
type Jinja struct {
	compiled *jinja.Template
	options  JinjaOptions
	source   string
	lists    bool // content is a list of parts, also where it is nothing but text
}

// NewJinja compiles a template. One that loops, recurses or grows without end is an error of Render, well within a second.
func NewJinja(source string, o JinjaOptions) (*Jinja, error) {
	compiled, err := jinja.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("chat: reading the chat template: %w", err)
	}
	t := &Jinja{compiled: compiled, options: o, source: source}
	t.lists = !t.says() && (&Jinja{compiled, o, source, true}).says()
	return t, nil
}

// says reports whether the template shows what a user says in the form in which it would be given content.
func (t *Jinja) says() bool {
	said := string(mark)
	text, err := t.Render(Conversation{Messages: []Message{{Role: User, Content: said}}}, false)
	return err == nil && strings.Contains(text, said)
}

// Source returns the template as its authors wrote it.
func (t *Jinja) Source() string { return t.source }

// Render implements Template.
func (t *Jinja) Render(c Conversation, generate bool) (string, error) {
	v := &variables{lists: t.lists}
	text, err := t.compiled.Render(v.all(t.options, c, generate), v.size)
	if err == nil {
		err = v.err
	}
	if err != nil && t.options.Now.IsZero() && strings.Contains(err.Error(), `"strftime_now" is undefined`) {
		err = errors.New("it asks for the date, which is not given")
	}
	if err != nil {
		return "", fmt.Errorf("chat: rendering the chat template: %w", err)
	}
	return text, nil
}

// variables turns our values into a template's and counts their bytes.
type variables struct {
	lists bool
	size  int
	err   error
}

func (v *variables) all(o JinjaOptions, c Conversation, generate bool) map[string]any {
	messages := make([]any, len(c.Messages))
	for i := range c.Messages {
		messages[i] = v.message(&c.Messages[i])
	}
	all := map[string]any{
		"messages":              jinja.NewList(messages),
		"tools":                 v.tools(c.Tools),
		"documents":             nil,
		"add_generation_prompt": generate,
	}
	if !o.Now.IsZero() {
		all["strftime_now"] = jinja.NewFunction("strftime_now", o.now)
	}
	if o.BOS != "" {
		all["bos_token"] = o.BOS
	}
	if o.EOS != "" {
		all["eos_token"] = o.EOS
	}
	for _, m := range o.Kwargs {
		all[m.Name] = v.value(m.Value)
	}
	return all
}

func (v *variables) tools(specs []ToolSpec) any {
	if len(specs) == 0 {
		return nil
	}
	tools := make([]any, len(specs))
	for i := range specs {
		tools[i] = v.value(specs[i].Spec)
	}
	return jinja.NewList(tools)
}

func (o JinjaOptions) now(args []any) (any, error) {
	if len(args) == 1 {
		if format, ok := args[0].(string); ok {
			text, err := strftime(o.Now, format)
			return text, err
		}
	}
	return nil, fmt.Errorf("strftime_now takes a format")
}

// message has the entries that transformers gives: reasoning under two names, since gpt-oss reads "thinking".
func (v *variables) message(m *Message) any {
	d := jinja.NewDict(5)
	if m.Reasoning != "" {
		d.Set("thinking", v.text(m.Reasoning))
	}
	d.Set("role", string(m.Role))
	d.Set("content", v.content(m))
	if m.Reasoning != "" {
		d.Set("reasoning_content", m.Reasoning)
	}
	if len(m.ToolCalls) > 0 {
		calls := make([]any, len(m.ToolCalls))
		for i := range m.ToolCalls {
			calls[i] = v.call(&m.ToolCalls[i])
		}
		d.Set("tool_calls", jinja.NewList(calls))
	}
	if m.ToolCallID != "" {
		d.Set("tool_call_id", v.text(m.ToolCallID))
	}
	if m.Name != "" {
		d.Set("name", v.text(m.Name))
	}
	return d
}

// content is a text, or a list of {"type": "text", "text": …} and {"type": "image"}.
func (v *variables) content(m *Message) any {
	parts := m.Parts
	switch {
	case parts == nil && !v.lists:
		return v.text(m.Content)
	case parts == nil && m.Content != "":
		parts = []Part{{Text: m.Content}}
	}
	list := make([]any, len(parts))
	for i, p := range parts {
		d := jinja.NewDict(2)
		if p.Image != nil {
			d.Set("type", v.text("image"))
		} else {
			d.Set("type", v.text("text"))
			d.Set("text", v.text(p.Text))
		}
		list[i] = d
	}
	return jinja.NewList(list)
}

func (v *variables) text(s string) string {
	v.size += len(s) + 16
	return s
}

// call is what templates expect: arguments as a mapping, never as text.
func (v *variables) call(t *ToolCall) any {
	function, d := jinja.NewDict(2), jinja.NewDict(3)
	function.Set("name", v.text(t.Name))
	function.Set("arguments", v.value(t.Arguments))
	d.Set("type", "function")
	if t.ID != "" {
		d.Set("id", v.text(t.ID))
	}
	d.Set("function", function)
	return d
}

func (v *variables) value(w Value) any {
	v.size += 16
	switch w.Kind() {
	case KindBool:
		return w.IsTrue()
	case KindInt:
		if i, ok := w.Int64(); ok {
			return i
		}
		return jinja.Int(w.String())
	case KindFloat:
		f, ok := w.Float64()
		if !ok || math.IsInf(f, 0) {
			v.err = fmt.Errorf("the number %s does not fit into 64 bits", w)
		}
		return f
	case KindString:
		return v.text(w.Text())
	case KindArray:
		items := make([]any, len(w.Items()))
		for i, item := range w.Items() {
			items[i] = v.value(item)
		}
		return jinja.NewList(items)
	case KindObject:
		d := jinja.NewDict(len(w.Members()))
		for _, m := range w.Members() {
			v.size += len(m.Name)
			d.Set(m.Name, v.value(m.Value))
		}
		return d
	}
	return nil
}
