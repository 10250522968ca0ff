// From sampled tokens to what a client is sent. A reading is a function of the tokens: whoever reads them again, after a
// broken stream or a restart, gets the same deltas.

package capture

import (
	"fmt"
	"slices"
	"strings"

	"molt/chat"
	"molt/chat/parse"
	"molt/engine"
	"molt/gateway/wire"
	"molt/tokenizer"
)

// manner is how a turn is read.
type manner struct {
	name    string // of the turn
	prompt  string // the end of the text that the policy was shown
	forced  string // the beginning of its reply, which it was shown too
	tools   []chat.ToolSpec
	lone    bool     // of a lone session
	ends    []int32  // tokens that end a turn
	stops   []string // strings that do
	single  bool     // the first call ends the turn
	raw     bool     // no syntax: everything is content
	report  bool     // deltas carry tokens
	choice  int
	family  *parse.Family
	decoder *tokenizer.Tokenizer
}

// reading reads one turn.
type reading struct {
	manner
	stream  *tokenizer.Stream
	parser  *parse.Parser
	ids     []int32
	held    []string // texts of tokens that may begin a stop string
	pending []wire.Token
	said    chat.Message
	spelt   map[int]string // calls that are shown as text, by index
	over    bool           // a stop string or the only call has ended the turn
	stop    string         // the stop string
	cut     int            // leading tokens of the turn when it is over
}

// calls reports whether what looks like a call is one; else it is text. Clients fail on calls of tools that they did not offer;
// environments have told of theirs in words.
func (m *manner) calls() bool { return m.lone || len(m.tools) > 0 }

func (m manner) read() *reading {
	r := &reading{manner: m, stream: m.decoder.NewStream(false)}
	r.said.Role = chat.Assistant
	if !m.raw {
		r.parser = m.family.New(m.prompt, m.tools)
		if m.forced != "" {
			r.parser.Write(m.forced, 0)
		}
	}
	return r
}

// push takes the next token.
func (r *reading) push(t engine.Token) []wire.Delta {
	if r.over {
		return nil
	}
	r.ids = append(r.ids, t.ID)
	text := ""
	if !slices.Contains(r.ends, t.ID) {
		text = r.stream.Push(t.ID)
	}
	if r.report {
		r.pending = append(r.pending, wire.Token{ID: t.ID, Logp: t.Logp, Text: text, Top: r.ranked(t.Top)})
	}
	if len(r.stops) == 0 {
		return r.deliver(r.parse(text, 1))
	}
	r.held = append(r.held, text)
	return r.deliver(r.release(false))
}

// ranked spells alternatives, each as it reads alone.
func (r *reading) ranked(top []engine.Ranked) []wire.Token {
	var out []wire.Token
	for _, a := range top {
		out = append(out, wire.Token{ID: a.ID, Logp: a.Logp, Text: r.decoder.Decode([]int32{a.ID})})
	}
	return out
}

// close ends the turn.
func (r *reading) close() []wire.Delta {
	var deltas []wire.Delta
	if !r.over {
		rest := r.stream.Flush()
		if len(r.stops) > 0 {
			r.held = append(r.held, rest)
			deltas = r.release(true)
		} else {
			deltas = r.parse(rest, 0)
		}
	}
	if r.parser != nil {
		deltas = append(deltas, r.deltas(r.parser.Close())...)
	}
	return r.deliver(deltas)
}

// deliver attaches the tokens that a client asked for.
func (r *reading) deliver(deltas []wire.Delta) []wire.Delta {
	if len(r.pending) > 0 && len(deltas) == 0 {
		deltas = []wire.Delta{{Kind: wire.Nothing, Choice: r.choice}}
	}
	if len(r.pending) > 0 {
		deltas[0].Tokens, r.pending = r.pending, nil
	}
	return deltas
}

// release hands on the texts that cannot belong to a stop string, or everything before one.
func (r *reading) release(final bool) []wire.Delta {
	joined := strings.Join(r.held, "")
	at, stop := len(joined), ""
	for _, s := range r.stops {
		if i := strings.Index(joined, s); i >= 0 && i < at {
			at, stop = i, s
		}
	}
	if stop == "" {
		if !final {
			at -= r.overlap(joined)
		}
		return r.hand(at, final)
	}
	end, length := 0, 0 // tokens that hold the stop string
	for length < at+len(stop) {
		length += len(r.held[end])
		end++
	}
	r.over, r.stop, r.cut = true, stop, len(r.ids)-len(r.held)+end
	var deltas []wire.Delta
	for _, text := range r.held[:end] {
		text = text[:min(len(text), at)]
		at -= len(text)
		deltas = append(deltas, r.parse(text, 1)...)
	}
	r.held = nil
	return deltas
}

// hand hands on the tokens whose text lies wholly before an offset.
func (r *reading) hand(at int, final bool) (deltas []wire.Delta) {
	for len(r.held) > 0 && (len(r.held[0]) <= at || final) {
		at -= len(r.held[0])
		deltas = append(deltas, r.parse(r.held[0], 1)...)
		r.held = r.held[1:]
	}
	return deltas
}

// overlap is the length of the longest end of text that begins a stop string.
func (r *reading) overlap(text string) int {
	longest := 0
	for _, s := range r.stops {
		for n := min(len(s)-1, len(text)); n > longest; n-- {
			if strings.HasPrefix(s, text[len(text)-n:]) {
				longest = n
			}
		}
	}
	return longest
}

func (r *reading) parse(text string, tokens int) []wire.Delta {
	if r.parser != nil {
		return r.deltas(r.parser.Write(text, tokens))
	}
	if text == "" {
		return nil
	}
	r.said.Content += text
	return []wire.Delta{{Kind: wire.Content, Choice: r.choice, Text: text}}
}

// deltas says what events mean to a client. Calls are shown when they are complete; where there can be
// none, what looks like one is text.
func (r *reading) deltas(events []parse.Event) []wire.Delta {
	var out []wire.Delta
	for _, e := range events {
		switch e.Kind {
		case parse.Reasoning:
			r.said.Reasoning += e.Text
			out = append(out, wire.Delta{Kind: wire.Reasoning, Choice: r.choice, Text: e.Text})
		case parse.Content, parse.Malformed:
			r.said.Content += e.Text
			out = append(out, wire.Delta{Kind: wire.Content, Choice: r.choice, Text: e.Text})
		case parse.CallEnd:
			out = append(out, r.call(e))
			if r.single && r.calls() {
				r.over, r.cut = true, len(r.ids)
				return out
			}
		}
	}
	return out
}

func (r *reading) call(e parse.Event) wire.Delta {
	if !r.calls() {
		text := r.spelled(e.Index)
		r.said.Content += text
		return wire.Delta{Kind: wire.Content, Choice: r.choice, Text: text}
	}
	call := r.named(e.Call, e.Index)
	r.said.ToolCalls = append(r.said.ToolCalls, call)
	return wire.Delta{Kind: wire.Call, Choice: r.choice, Call: call}
}

// named gives a call the id that its client will send back.
func (r *reading) named(call chat.ToolCall, index int) chat.ToolCall {
	switch {
	case r.lone:
		call.ID = fmt.Sprintf("%sc%04d", r.name, index) // nine characters, as Mistral wants
	case call.ID == "":
		call.ID = callID(r.name, index)
	}
	return call
}

// spelled is the text of a call as it was sampled.
func (r *reading) spelled(index int) string {
	from := 0
	for _, item := range r.parser.Reply().Items {
		if item.Kind == parse.CallEnd && item.Index == index {
			text := r.decoder.Decode(r.ids[min(from, len(r.ids)):min(item.Tokens, len(r.ids))])
			if r.spelt == nil {
				r.spelt = map[int]string{}
			}
			r.spelt[index] = text
			return text
		}
		from = item.Tokens
	}
	return ""
}

// outcome is what a reading found, after close.
type outcome struct {
	reasoning   int // tokens
	checkpoints []checkpoint
	malformed   int
	ignored     int
	unclosed    bool
}

// checkpoint is a part of the turn that ends with a whole item.
type checkpoint struct {
	tokens int
	said   chat.Message
}

func (r *reading) outcome() outcome {
	var o outcome
	if r.parser == nil {
		return o
	}
	reply := r.parser.Reply()
	part := chat.Message{Role: chat.Assistant}
	last := 0
	for i, item := range reply.Items {
		switch {
		case item.Kind == parse.Reasoning:
			part.Reasoning += item.Text
			o.reasoning += item.Tokens - last
		case item.Kind == parse.CallEnd && !r.calls():
			part.Content += r.spelt[item.Index]
		case item.Kind == parse.CallEnd:
			part.ToolCalls = append(part.ToolCalls, r.named(item.Call, item.Index))
		default:
			part.Content += item.Text
		}
		last = item.Tokens
		if i+1 < len(reply.Items) {
			whole := part
			whole.ToolCalls = slices.Clone(part.ToolCalls)
			o.checkpoints = append(o.checkpoints, checkpoint{item.Tokens, whole})
		}
	}
	o.malformed, o.ignored, o.unclosed = reply.Count(parse.Malformed), reply.Ignored, reply.Unclosed
	return o
}

// finished counts the leading tokens whose items are whole when no more than the tokens read so far have arrived, without
// close: what a client that was cut off here may keep.
func (r *reading) finished() int {
	if r.parser == nil {
		return 0
	}
	items := r.parser.Reply().Items
	n := len(items)
	if n > 0 && items[n-1].Kind != parse.CallEnd {
		n--
	}
	if n == 0 {
		return 0
	}
	return items[n-1].Tokens
}
