// Event streams: message_start, then for each block its start, its deltas and its stop, then message_delta with the reason and
// the usage, then message_stop.

package anthropic

import (
	"molt/gateway/wire"
)

// Stream implements wire.Stream.
type Stream struct {
	request *wire.Request
	meta    wire.Meta
	open    bool
	kind    wire.Kind // of the open block
	index   int       // of the open block, or of the next one
	called  bool
	end     wire.End
}

// NewStream starts the reply to a request.
func NewStream(r *wire.Request) *Stream { return &Stream{request: r} }

// event opens an event; the caller closes the object with shut.
func event(dst []byte, kind string) []byte {
	dst = append(append(append(dst, "event: "...), kind...), "\ndata: "...)
	return wire.Quote(append(dst, `{"type":`...), kind)
}

func shut(dst []byte) []byte { return append(dst, "}\n\n"...) }

// at opens an event of the block at the current index.
func (s *Stream) at(dst []byte, kind string) []byte {
	return wire.Number(append(event(dst, kind), `,"index":`...), int64(s.index))
}

// Start implements wire.Stream.
func (s *Stream) Start(dst []byte, m wire.Meta) []byte {
	s.meta = m
	dst = head(append(event(dst, "message_start"), `,"message":`...), &m)
	dst = append(dst, `],"stop_reason":null,"stop_sequence":null,`...)
	return shut(append(usage(dst, &m, wire.End{}), '}'))
}

// Delta implements wire.Stream.
func (s *Stream) Delta(dst []byte, d wire.Delta) []byte {
	if d.Kind == wire.Nothing || d.Kind == wire.Reasoning && s.request.Options.Hidden {
		return dst
	}
	if s.open && (s.kind != d.Kind || d.Kind == wire.Call) {
		dst = s.stopBlock(dst)
	}
	if !s.open {
		dst = s.startBlock(dst, d)
	}
	dst = append(s.at(dst, "content_block_delta"), `,"delta":{"type":`...)
	switch d.Kind {
	case wire.Reasoning:
		dst = wire.Quote(append(dst, `"thinking_delta","thinking":`...), d.Text)
	case wire.Call:
		s.called = true
		dst = wire.Quote(append(dst, `"input_json_delta","partial_json":`...), d.Call.Arguments.String())
		return s.stopBlock(shut(append(dst, '}')))
	default:
		dst = wire.Quote(append(dst, `"text_delta","text":`...), d.Text)
	}
	return shut(append(dst, '}'))
}

func (s *Stream) startBlock(dst []byte, d wire.Delta) []byte {
	s.open, s.kind = true, d.Kind
	dst = append(s.at(dst, "content_block_start"), `,"content_block":`...)
	return shut(block(dst, &s.meta, s.index, wire.Part{Kind: d.Kind, Call: d.Call}, false))
}

func (s *Stream) stopBlock(dst []byte) []byte {
	if s.kind == wire.Reasoning {
		dst = append(s.at(dst, "content_block_delta"), `,"delta":{"type":"signature_delta","signature":`...)
		dst = shut(append(wire.Quote(dst, signature(&s.meta, s.index)), '}'))
	}
	dst = shut(s.at(dst, "content_block_stop"))
	s.open = false
	s.index++
	return dst
}

// End implements wire.Stream.
func (s *Stream) End(dst []byte, _ int, e wire.End) []byte {
	s.end = e
	if s.index == 0 && !s.open {
		dst = s.startBlock(dst, wire.Delta{Kind: wire.Content})
	}
	if s.open {
		dst = s.stopBlock(dst)
	}
	return dst
}

// Close implements wire.Stream.
func (s *Stream) Close(dst []byte) []byte {
	dst = append(event(dst, "message_delta"), `,"delta":{`...)
	dst = append(stop(dst, s.end, s.called), `},`...)
	dst = shut(usage(dst, &s.meta, s.end))
	return shut(event(dst, "message_stop"))
}

// Fail implements wire.Stream.
func (s *Stream) Fail(dst []byte, p *wire.Problem) []byte {
	_, body := Error(p)
	dst = append(append(dst, "event: error\ndata: "...), body...)
	return append(dst, "\n\n"...)
}

// Alive implements wire.Stream.
func (s *Stream) Alive(dst []byte) []byte { return shut(event(dst, "ping")) }
