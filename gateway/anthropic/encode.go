// Messages and the blocks in them.

package anthropic

import (
	"strconv"

	"molt/gateway/wire"
	"molt/traj"
)

// Encode writes the reply to a request that does not stream.
func Encode(r *wire.Request, reply *wire.Reply) []byte {
	c := &reply.Choices[0]
	dst := head(nil, &reply.Meta)
	n := 0
	for _, p := range c.Parts {
		if p.Kind == wire.Reasoning && r.Options.Hidden {
			continue
		}
		dst = block(wire.Comma(dst, n), &reply.Meta, n, p, true)
		n++
	}
	if n == 0 {
		dst = block(dst, &reply.Meta, 0, wire.Part{Kind: wire.Content}, true)
	}
	dst = stop(append(dst, `],`...), c.End, c.Called())
	return append(usage(append(dst, ','), &reply.Meta, c.End), '}')
}

// Count writes the reply to count_tokens.
func Count(tokens int) []byte {
	return append(wire.Number([]byte(`{"input_tokens":`), int64(tokens)), '}')
}

// head opens a message up to the inside of its content.
func head(dst []byte, m *wire.Meta) []byte {
	dst = wire.Quote(append(dst, `{"id":`...), "msg_"+m.Turns[0])
	dst = wire.Quote(append(dst, `,"type":"message","role":"assistant","model":`...), m.Model)
	return append(dst, `,"content":[`...)
}

// signature is the opaque name of a thinking block.
func signature(m *wire.Meta, index int) string {
	return "sig_" + m.Turns[0] + "_" + strconv.Itoa(index)
}

// block writes a block, empty while it is not done.
func block(dst []byte, m *wire.Meta, index int, p wire.Part, done bool) []byte {
	if !done {
		p.Text = ""
	}
	switch p.Kind {
	case wire.Reasoning:
		dst = wire.Quote(append(dst, `{"type":"thinking","thinking":`...), p.Text)
		name := ""
		if done {
			name = signature(m, index)
		}
		return append(wire.Quote(append(dst, `,"signature":`...), name), '}')
	case wire.Call:
		dst = wire.Quote(append(dst, `{"type":"tool_use","id":`...), p.Call.ID)
		dst = wire.Quote(append(dst, `,"name":`...), p.Call.Name)
		dst = append(dst, `,"input":`...)
		if done {
			dst = p.Call.Arguments.AppendJSON(dst)
		} else {
			dst = append(dst, "{}"...)
		}
		return append(dst, '}')
	}
	return append(wire.Quote(append(dst, `{"type":"text","text":`...), p.Text), '}')
}

// stop writes why a reply ended.
func stop(dst []byte, e wire.End, called bool) []byte {
	reason := "end_turn"
	switch {
	case e.Stop != "":
		reason = "stop_sequence"
	case e.Finish == traj.FinishLength:
		reason = "max_tokens"
	case called:
		reason = "tool_use"
	}
	dst = wire.Quote(append(dst, `"stop_reason":`...), reason)
	if e.Stop == "" {
		return append(dst, `,"stop_sequence":null`...)
	}
	return wire.Quote(append(dst, `,"stop_sequence":`...), e.Stop)
}

// usage counts a prompt's tokens apart: those that were computed, and those that were there.
func usage(dst []byte, m *wire.Meta, e wire.End) []byte {
	dst = wire.Number(append(dst, `"usage":{"input_tokens":`...), int64(m.Prompt-e.Cached))
	dst = wire.Number(append(dst, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":`...), int64(e.Cached))
	dst = wire.Number(append(dst, `,"output_tokens":`...), int64(e.Sampled))
	return append(dst, `,"server_tool_use":null,"service_tier":"standard"}`...)
}
