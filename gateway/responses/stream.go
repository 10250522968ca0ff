// Event streams. Clients act on output_item.done: a tool runs from it, and what was done when a stream breaks stays in their
// history.

package responses

import (
	"molt/gateway/wire"
)

// Stream implements wire.Stream.
type Stream struct {
	writer
	sequence int
	open     bool         // an item is open
	part     wire.Part    // the open item
	index    int          // of the open item, or of the next one
	output   []byte       // items that are done
	late     []wire.Token // of the open item, and not reported yet
	end      wire.End
}

// NewStream starts the reply to a request. incomplete is as in Encode.
func NewStream(r *wire.Request, incomplete bool) *Stream {
	return &Stream{writer: writer{request: r, incomplete: incomplete}}
}

// event opens an event; the caller closes the object with shut.
func (s *Stream) event(dst []byte, kind string) []byte {
	dst = append(append(append(dst, "event: "...), kind...), "\ndata: "...)
	dst = wire.Quote(append(dst, `{"type":`...), kind)
	dst = wire.Number(append(dst, `,"sequence_number":`...), int64(s.sequence))
	s.sequence++
	return dst
}

func shut(dst []byte) []byte { return append(dst, "}\n\n"...) }

// at adds where the open item stands. inner is the name of the index inside it, "" for none.
func (s *Stream) at(dst []byte, prefix, inner string) []byte {
	dst = wire.Quote(append(dst, `,"item_id":`...), s.id(prefix, s.index))
	dst = wire.Number(append(dst, `,"output_index":`...), int64(s.index))
	if inner != "" {
		dst = append(wire.Quote(append(dst, ','), inner), `:0`...)
	}
	return dst
}

// Start implements wire.Stream.
func (s *Stream) Start(dst []byte, m wire.Meta) []byte {
	s.meta = m
	for _, kind := range []string{"response.created", "response.in_progress"} {
		dst = append(s.event(dst, kind), `,"response":`...)
		dst = shut(s.response(dst, "in_progress", nil, nil, nil))
	}
	return dst
}

// Delta implements wire.Stream.
func (s *Stream) Delta(dst []byte, d wire.Delta) []byte {
	if d.Kind == wire.Nothing {
		if s.open && s.part.Kind == wire.Content {
			s.late = append(s.late, d.Tokens...)
		}
		return dst
	}
	if s.open && (s.part.Kind != d.Kind || d.Kind == wire.Call) {
		dst = s.done(dst)
	}
	if !s.open {
		dst = s.added(dst, d)
	}
	if d.Kind == wire.Call {
		return s.done(dst)
	}
	s.part.Text += d.Text
	if d.Kind == wire.Content {
		s.late = append(s.late, d.Tokens...)
	}
	return s.delta(dst, d.Text)
}

// added opens an item.
func (s *Stream) added(dst []byte, d wire.Delta) []byte {
	s.open, s.part = true, wire.Part{Kind: d.Kind, Call: d.Call}
	dst = wire.Number(append(s.event(dst, "response.output_item.added"), `,"output_index":`...), int64(s.index))
	dst = shut(s.item(append(dst, `,"item":`...), s.index, s.part, false))
	switch d.Kind {
	case wire.Reasoning:
		dst = s.at(s.event(dst, "response.reasoning_summary_part.added"), "rs", "summary_index")
		return shut(append(dst, `,"part":{"type":"summary_text","text":""}`...))
	case wire.Content:
		dst = s.at(s.event(dst, "response.content_part.added"), "msg", "content_index")
		return shut(s.writer.part(append(dst, `,"part":`...), wire.Part{}))
	}
	return dst
}

func (s *Stream) delta(dst []byte, text string) []byte {
	if s.part.Kind == wire.Reasoning {
		dst = s.at(s.event(dst, "response.reasoning_summary_text.delta"), "rs", "summary_index")
		return shut(wire.Quote(append(dst, `,"delta":`...), text))
	}
	dst = s.at(s.event(dst, "response.output_text.delta"), "msg", "content_index")
	dst = wire.Quote(append(dst, `,"delta":`...), text)
	dst = wire.Logprobs(append(dst, `,"logprobs":`...), s.shown(s.late))
	s.settle()
	return shut(dst)
}

// settle gives the tokens that were reported to the open item.
func (s *Stream) settle() {
	s.part.Tokens, s.late = append(s.part.Tokens, s.late...), s.late[:0]
}

// done closes the open item.
func (s *Stream) done(dst []byte) []byte {
	s.settle()
	switch s.part.Kind {
	case wire.Reasoning:
		dst = s.at(s.event(dst, "response.reasoning_summary_text.done"), "rs", "summary_index")
		dst = shut(wire.Quote(append(dst, `,"text":`...), s.part.Text))
		dst = s.at(s.event(dst, "response.reasoning_summary_part.done"), "rs", "summary_index")
		dst = wire.Quote(append(dst, `,"part":{"type":"summary_text","text":`...), s.part.Text)
		dst = shut(append(dst, '}'))
	case wire.Content:
		dst = s.at(s.event(dst, "response.output_text.done"), "msg", "content_index")
		dst = wire.Quote(append(dst, `,"text":`...), s.part.Text)
		dst = shut(wire.Logprobs(append(dst, `,"logprobs":`...), s.shown(s.part.Tokens)))
		dst = s.at(s.event(dst, "response.content_part.done"), "msg", "content_index")
		dst = shut(s.writer.part(append(dst, `,"part":`...), s.part))
	default:
		dst = s.arguments(dst)
	}
	dst = wire.Number(append(s.event(dst, "response.output_item.done"), `,"output_index":`...), int64(s.index))
	from := len(dst) + len(`,"item":`)
	dst = s.item(append(dst, `,"item":`...), s.index, s.part, true)
	s.output = append(wire.Comma(s.output, s.index), dst[from:]...)
	s.index++
	s.open = false
	return shut(dst)
}

// arguments writes the text of a call, in one piece.
func (s *Stream) arguments(dst []byte) []byte {
	tool := s.request.Names.Of(s.part.Call.Name)
	kind, prefix, field := "response.function_call_arguments", "fc", "arguments"
	if tool.Free {
		kind, prefix, field = "response.custom_tool_call_input", "ctc", "input"
	}
	text := wire.Written(s.part.Call, tool.Free)
	dst = s.at(s.event(dst, kind+".delta"), prefix, "")
	dst = shut(wire.Quote(append(dst, `,"delta":`...), text))
	dst = s.at(s.event(dst, kind+".done"), prefix, "")
	if !tool.Free {
		dst = wire.Quote(append(dst, `,"name":`...), tool.Name)
	}
	return shut(wire.Quote(append(wire.Quote(append(dst, ','), field), ':'), text))
}

// End implements wire.Stream.
func (s *Stream) End(dst []byte, _ int, e wire.End) []byte {
	s.end = e
	if s.open {
		return s.done(dst)
	}
	if s.index == 0 {
		return s.done(s.added(dst, wire.Delta{Kind: wire.Content}))
	}
	return dst
}

// Close implements wire.Stream.
func (s *Stream) Close(dst []byte) []byte {
	status := s.status(s.end)
	dst = append(s.event(dst, "response."+status), `,"response":`...)
	return shut(s.response(dst, status, s.output, &s.end, nil))
}

// Fail implements wire.Stream.
func (s *Stream) Fail(dst []byte, p *wire.Problem) []byte {
	dst = append(s.event(dst, "response.failed"), `,"response":`...)
	return shut(s.response(dst, "failed", s.output, nil, p))
}

// Alive implements wire.Stream.
func (s *Stream) Alive(dst []byte) []byte { return append(dst, ": keepalive\n\n"...) }
