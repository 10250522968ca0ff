// Event streams. The first chunk of a choice names the role; a call is one chunk with its id, type and name, then one with its
// arguments and neither; the last chunk of a choice has a finish_reason; usage, when it was asked for, comes in a chunk
// without choices; [DONE] ends it.

package openai

import (
	"molt/gateway/wire"
)

// Stream implements wire.Stream.
type Stream struct {
	form
	meta    wire.Meta
	choices []streaming
	total   count
}

type streaming struct {
	calls  int
	tokens []wire.Token // sampled, but not reported yet
}

// NewStream starts the reply to a request. raw is for Completions.
func NewStream(r *wire.Request, raw bool) *Stream { return &Stream{form: formOf(r, raw)} }

// Start implements wire.Stream.
func (s *Stream) Start(dst []byte, m wire.Meta) []byte {
	s.meta, s.choices = m, make([]streaming, len(m.Turns))
	s.total.prompt = m.Prompt
	if s.raw {
		return dst
	}
	for i := range s.choices {
		dst = s.open(dst, i)
		dst = append(dst, `"role":"assistant","content":"","refusal":null`...)
		dst = s.shut(dst, i, "")
	}
	return dst
}

// open begins a chunk up to the inside of its delta.
func (s *Stream) open(dst []byte, choice int) []byte {
	dst = s.head(append(dst, "data: "...), &s.meta, true)
	dst = wire.Number(append(dst, `,"choices":[{"index":`...), int64(choice))
	if s.raw {
		return append(dst, `,"text":`...)
	}
	return append(dst, `,"delta":{`...)
}

// shut ends a chunk behind its delta.
func (s *Stream) shut(dst []byte, choice int, finish string) []byte {
	if !s.raw {
		dst = append(dst, '}')
	}
	c := &s.choices[choice]
	dst = s.tokens(dst, c.tokens)
	c.tokens = c.tokens[:0]
	if s.raw && s.meta.IDs != nil {
		dst = promptIDs(dst, s.meta.IDs)
		s.meta.IDs = nil
	}
	if finish == "" {
		dst = append(dst, `,"finish_reason":null}]`...)
	} else {
		dst = append(wire.Quote(append(dst, `,"finish_reason":`...), finish), `}]`...)
	}
	if s.usage {
		dst = append(dst, `,"usage":null`...)
	}
	if !s.raw && s.meta.IDs != nil {
		dst = promptIDs(dst, s.meta.IDs)
		s.meta.IDs = nil
	}
	return append(dst, "}\n\n"...)
}

// Delta implements wire.Stream.
func (s *Stream) Delta(dst []byte, d wire.Delta) []byte {
	c := &s.choices[d.Choice]
	if s.logprobs || s.ids {
		c.tokens = append(c.tokens, d.Tokens...)
	}
	switch d.Kind {
	case wire.Reasoning:
		dst = wire.Quote(append(s.open(dst, d.Choice), `"reasoning_content":`...), d.Text)
	case wire.Content:
		dst = s.open(dst, d.Choice)
		if !s.raw {
			dst = append(dst, `"content":`...)
		}
		dst = wire.Quote(dst, d.Text)
	case wire.Call:
		dst = s.shut(s.callPart(dst, d, c.calls, true), d.Choice, "")
		dst = s.callPart(dst, d, c.calls, false)
		c.calls++
	default:
		return dst
	}
	return s.shut(dst, d.Choice, "")
}

func (s *Stream) callPart(dst []byte, d wire.Delta, index int, opening bool) []byte {
	dst = wire.Number(append(s.open(dst, d.Choice), `"tool_calls":[{"index":`...), int64(index))
	return append(s.call(append(dst, ','), d.Call, opening, !opening), `}]`...)
}

// End implements wire.Stream.
func (s *Stream) End(dst []byte, choice int, e wire.End) []byte {
	s.total.sampled += e.Sampled
	s.total.reasoning += e.Reasoning
	s.total.cached = max(s.total.cached, e.Cached)
	dst = s.open(dst, choice)
	if s.raw {
		dst = append(dst, `""`...)
	}
	return s.shut(dst, choice, finish(e, s.choices[choice].calls > 0))
}

// Close implements wire.Stream.
func (s *Stream) Close(dst []byte) []byte {
	if s.usage {
		dst = s.head(append(dst, "data: "...), &s.meta, true)
		dst = s.total.append(append(dst, `,"choices":[],`...))
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// Fail implements wire.Stream.
func (s *Stream) Fail(dst []byte, p *wire.Problem) []byte {
	_, body := Error(p)
	return append(append(append(dst, "data: "...), body...), "\n\n"...)
}

// Alive implements wire.Stream.
func (s *Stream) Alive(dst []byte) []byte { return append(dst, ": keepalive\n\n"...) }
