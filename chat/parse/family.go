// Families: the syntaxes that models were taught, by name.

package parse

import (
	"fmt"
	"strings"

	"molt/chat"
)

// Family is a syntax of replies. It is immutable and safe for concurrent use.
type Family struct {
	Name string // as `molt serve --parser` spells it
	Form string // a call in one line, for people; "" when the family reads none

	think  pair  // around reasoning; empty when there is none
	opens  tags  // what begins a call
	closes tags  // what ends one; a broken call is read on to here
	drops  tags  // what says nothing in content
	body   state // behind reasoning; content unless calls may come without a tag
	call   state // behind a tag that opens one

	start func(prompt string) state // the first state; nil: reasoning when the prompt leaves it open, start otherwise

	inReasoning, inContent, inCall tags
}

// pair is an opening tag and a closing one.
type pair struct{ open, close string }

var think = pair{"<think>", "</think>"}

// families in the order in which Families lists them.
var families = define(plain, hermes, qwen3Coder, seedOSS, llama3, llamaPythonic, lfm2, olmo3, mistral, deepseek, deepseekDSML, deepseekSpaced, minimax, glm,
	kimi, kimi3, harmony, gemma, granite, phi4Mini, nemotron, jamba, command)

func define(makers ...func() *Family) []*Family {
	var out []*Family
	for _, maker := range makers {
		f := maker()
		if f.body == nil {
			f.body = content
		}
		f.inReasoning = f.opens
		if f.think.close != "" {
			f.inReasoning = newTags(append([]string{f.think.close}, f.opens.all...)...)
		}
		f.inContent = newTags(append(f.opens.all[:len(f.opens.all):len(f.opens.all)], f.drops.all...)...)
		f.inCall = newTags(append(f.opens.all[:len(f.opens.all):len(f.opens.all)], f.closes.all...)...)
		out = append(out, f)
	}
	return out
}

// Families lists all of them, the plain one first.
func Families() []*Family { return families }

// Named returns a family by its name.
func Named(name string) (*Family, error) {
	var names []string
	for _, f := range families {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return nil, fmt.Errorf("parse: no family is called %q; there are %s", name, strings.Join(names, ", "))
}

// New starts a turn. prompt is the text that the model was shown, or the end of it: whether reasoning is open already
// depends on that. tools are those on offer; families that do not write types read them from there.
func (f *Family) New(prompt string, tools []chat.ToolSpec) *Parser {
	p := &Parser{family: f, tools: tools, state: start}
	switch {
	case f.start != nil:
		p.state = f.start(prompt)
	case f.think.open != "" && strings.HasSuffix(strings.TrimRight(prompt, spaces), f.think.open):
		p.state = reasoning
	}
	return p
}

// Read reads a whole turn, of which only the text is known.
func (f *Family) Read(text, prompt string, tools []chat.ToolSpec) Reply {
	p := f.New(prompt, tools)
	p.Write(text, 0)
	p.Close()
	return p.Reply()
}

// Reader is Read for a chat.Renderer.
func (f *Family) Reader() chat.Reader {
	return func(text, prompt string, tools []chat.ToolSpec) chat.Turn {
		r := f.Read(text, prompt, tools)
		return chat.Turn{Message: r.Message(), Malformed: r.Count(Malformed), Ignored: r.Ignored, Unclosed: r.Unclosed}
	}
}

// Hermes reads what models with Molt's own chat template say.
func Hermes() chat.Reader {
	f, _ := Named("hermes") // a test reads it
	return f.Reader()
}

// Dropped is the tag with which a text begins and which says nothing in content, such as the one that closes it.
func (f *Family) Dropped(text string) string {
	tag, _ := longest(text, f.drops.all, true)
	return tag
}

// Think returns the tags around reasoning; empty when the family has none of its own.
func (f *Family) Think() (open, closing string) { return f.think.open, f.think.close }

// Openings are the tags that begin calls, or what stands around them.
func (f *Family) Openings() []string { return f.opens.all }

// CallsTools reports whether the family reads calls at all.
func (f *Family) CallsTools() bool { return f.Form != "" }
