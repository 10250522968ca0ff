// Chat templates: how a model's authors turn a conversation into one text.

package chat

import (
	"fmt"
	"strings"

	"github.com/ardanlabs/jinja"
)

// Template renders a conversation. It is safe for concurrent use.
type Template interface {
	// Render returns the text of the conversation, ending where the assistant speaks next when generate is true.
	Render(c Conversation, generate bool) (string, error)
}

// JinjaOptions are what a template can see besides the conversation.
type JinjaOptions struct {
	BOS, EOS string                       // bos_token and eos_token
	Now      func(strftime string) string // strftime_now; nil: a template that asks for the date fails
	Kwargs   []Member                     // further variables, such as enable_thinking
}

// Jinja is a chat_template as Hugging Face models carry it, rendered as transformers renders it.
type Jinja struct {
	compiled *jinja.Template
	guarded  guarded
	options  JinjaOptions
	source   string
}

// NewJinja compiles a template. It is rewritten to run under a budget: one that loops, recurses or grows without end is an
// error of Render, well within a second.
func NewJinja(source string, o JinjaOptions) (*Jinja, error) {
	text := strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	text = strings.TrimSuffix(text, "\n") // as keep_trailing_newline=False
	g, err := guardTemplate(text)
	if err != nil {
		return nil, fmt.Errorf("chat: reading the chat template: %w", err)
	}
	compiled, err := jinja.Compile(g.source)
	if err != nil {
		return nil, fmt.Errorf("chat: reading the chat template: %w", err)
	}
	return &Jinja{compiled, g, o, source}, nil
}

// Source returns the template as its authors wrote it.
func (t *Jinja) Source() string { return t.source }

// Render implements Template.
func (t *Jinja) Render(c Conversation, generate bool) (text string, err error) {
	data, size, err := t.variables(c, generate)
	if err != nil {
		return "", fmt.Errorf("chat: rendering the chat template: %w", err)
	}
	b := &budget{units: baseUnits + unitsPerInput*int64(size), maxBody: t.guarded.maxBody}
	for name, f := range b.functions() {
		data[name] = f
	}
	if err := b.charge(t.guarded.cost); err != nil {
		return "", fmt.Errorf("chat: rendering the chat template: %w", err)
	}
	defer func() { // the library panics on some operations between types
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("chat: rendering the chat template: %v", p)
		}
	}()
	text, err = t.compiled.RenderValues(data)
	if err != nil {
		return "", fmt.Errorf("chat: rendering the chat template: %w", err)
	}
	return text, nil
}

// variables are what the template sees, and their size in bytes.
func (t *Jinja) variables(c Conversation, generate bool) (map[string]jinja.Value, int, error) {
	v := converter{}
	messages := make([]jinja.Value, len(c.Messages))
	for i := range c.Messages {
		messages[i] = v.message(&c.Messages[i])
	}
	data := map[string]jinja.Value{
		"messages":              jinja.NewList(messages),
		"add_generation_prompt": jinja.NewBool(generate),
		"bos_token":             jinja.NewString(t.options.BOS),
		"eos_token":             jinja.NewString(t.options.EOS),
		"strftime_now":          jinja.NewCallable("guard.strftime_now", t.now),
		"tools":                 jinja.None(),
	}
	if len(c.Tools) > 0 {
		tools := make([]jinja.Value, len(c.Tools))
		for i := range c.Tools {
			tools[i] = v.value(c.Tools[i].Spec)
		}
		data["tools"] = jinja.NewList(tools)
	}
	for _, m := range t.options.Kwargs {
		data[m.Name] = v.value(m.Value)
	}
	return data, v.size, v.err
}

func (t *Jinja) now(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	if t.options.Now == nil || len(args) != 1 || !args[0].IsString() {
		return jinja.None(), fmt.Errorf("the template asks for the date, which this run does not give")
	}
	return jinja.NewString(t.options.Now(args[0].AsString())), nil
}

// converter turns our values into the library's and counts bytes.
type converter struct {
	size int
	err  error
}

func (c *converter) message(m *Message) jinja.Value {
	d := jinja.NewDict()
	set := func(name string, v jinja.Value) { d.AsDict().Set(name, v) }
	set("role", jinja.NewString(string(m.Role)))
	set("content", c.text(m.Content))
	if m.Reasoning != "" {
		set("reasoning_content", c.text(m.Reasoning))
	}
	if len(m.ToolCalls) > 0 {
		calls := make([]jinja.Value, len(m.ToolCalls))
		for i := range m.ToolCalls {
			calls[i] = c.call(&m.ToolCalls[i])
		}
		set("tool_calls", jinja.NewList(calls))
	}
	if m.ToolCallID != "" {
		set("tool_call_id", c.text(m.ToolCallID))
	}
	if m.Name != "" {
		set("name", c.text(m.Name))
	}
	return d
}

func (c *converter) text(s string) jinja.Value {
	c.size += len(s) + 16
	return jinja.NewString(s)
}

// call is what templates expect: arguments as a mapping, never as text.
func (c *converter) call(t *ToolCall) jinja.Value {
	function, d := jinja.NewDict(), jinja.NewDict()
	function.AsDict().Set("name", c.text(t.Name))
	function.AsDict().Set("arguments", c.value(t.Arguments))
	d.AsDict().Set("type", jinja.NewString("function"))
	if t.ID != "" {
		d.AsDict().Set("id", c.text(t.ID))
	}
	d.AsDict().Set("function", function)
	return d
}

func (c *converter) value(v Value) jinja.Value {
	c.size += 16
	switch v.Kind() {
	case KindBool:
		return jinja.NewBool(v.IsTrue())
	case KindInt:
		i, ok := v.Int64()
		if !ok {
			c.err = fmt.Errorf("the integer %s does not fit into 64 bits", v)
		}
		return jinja.NewInt(i)
	case KindFloat:
		f, ok := v.Float64()
		if !ok {
			c.err = fmt.Errorf("the number %s does not fit into 64 bits", v)
		}
		return jinja.NewFloat(f)
	case KindString:
		return c.text(v.Text())
	case KindArray:
		items := make([]jinja.Value, len(v.Items()))
		for i, item := range v.Items() {
			items[i] = c.value(item)
		}
		return jinja.NewList(items)
	case KindObject:
		d := jinja.NewDict()
		for _, m := range v.Members() {
			c.size += len(m.Name)
			d.AsDict().Set(m.Name, c.value(m.Value))
		}
		return d
	}
	return jinja.None()
}
