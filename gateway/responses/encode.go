// Response objects and the items in them.

package responses

import (
	"strconv"

	"molt/gateway/openai"
	"molt/gateway/wire"
	"molt/traj"
)

// writer writes the parts of one reply.
type writer struct {
	request    *wire.Request
	meta       wire.Meta
	incomplete bool // a reply that was cut by its length is reported as incomplete
}

// Encode writes the reply to a request that does not stream. With incomplete, a reply that was cut by its length says so;
// some clients fail on that, so that the other way is to report it as completed.
func Encode(r *wire.Request, reply *wire.Reply, incomplete bool) []byte {
	w := writer{r, reply.Meta, incomplete}
	c := &reply.Choices[0]
	var output []byte
	for i, p := range items(c.Parts) {
		output = w.item(wire.Comma(output, i), i, p, true)
	}
	return w.response(nil, w.status(c.End), output, &c.End, nil)
}

// items are the parts of a reply; one that says nothing still has an empty message.
func items(parts []wire.Part) []wire.Part {
	if len(parts) == 0 {
		return []wire.Part{{Kind: wire.Content}}
	}
	return parts
}

func (w *writer) status(e wire.End) string {
	if e.Finish == traj.FinishLength && w.incomplete {
		return "incomplete"
	}
	return "completed"
}

// response writes the response object.
func (w *writer) response(dst []byte, status string, output []byte, e *wire.End, failed *wire.Problem) []byte {
	dst = wire.Quote(append(dst, `{"id":`...), "resp_"+w.meta.Turns[0])
	dst = wire.Number(append(dst, `,"object":"response","created_at":`...), w.meta.Created)
	dst = wire.Quote(append(dst, `,"status":`...), status)
	dst = wire.Quote(append(dst, `,"model":`...), w.meta.Model)
	if failed != nil {
		dst = wire.Quote(append(dst, `,"error":{"code":`...), openai.Code(failed))
		dst = append(wire.Quote(append(dst, `,"message":`...), openai.Message(failed)), '}')
	} else {
		dst = append(dst, `,"error":null`...)
	}
	if status == "incomplete" {
		dst = append(dst, `,"incomplete_details":{"reason":"max_output_tokens"}`...)
	} else {
		dst = append(dst, `,"incomplete_details":null`...)
	}
	dst = append(append(append(dst, `,"output":[`...), output...), `],`...)
	dst = append(dst, w.request.Echo...)
	if e == nil {
		return append(dst, `,"usage":null}`...)
	}
	return append(w.usage(dst, e), '}')
}

func (w *writer) usage(dst []byte, e *wire.End) []byte {
	dst = wire.Number(append(dst, `,"usage":{"input_tokens":`...), int64(w.meta.Prompt))
	dst = wire.Number(append(dst, `,"input_tokens_details":{"cached_tokens":`...), int64(e.Cached))
	dst = wire.Number(append(dst, `},"output_tokens":`...), int64(e.Sampled))
	dst = wire.Number(append(dst, `,"output_tokens_details":{"reasoning_tokens":`...), int64(e.Reasoning))
	dst = wire.Number(append(dst, `},"total_tokens":`...), int64(w.meta.Prompt+e.Sampled))
	return append(dst, '}')
}

// id names the item at an index of the output.
func (w *writer) id(prefix string, index int) string {
	return prefix + "_" + w.meta.Turns[0] + "_" + strconv.Itoa(index)
}

// item writes an item of the output, empty while it is not done.
func (w *writer) item(dst []byte, index int, p wire.Part, done bool) []byte {
	status := "in_progress"
	if done {
		status = "completed"
	}
	switch p.Kind {
	case wire.Reasoning:
		dst = wire.Quote(append(dst, `{"type":"reasoning","id":`...), w.id("rs", index))
		dst = append(dst, `,"summary":[`...)
		if done {
			dst = append(wire.Quote(append(dst, `{"type":"summary_text","text":`...), p.Text), '}')
		}
		dst = wire.Quote(append(dst, `],"encrypted_content":`...), w.id("enc", index))
	case wire.Call:
		dst = w.call(dst, index, p, done)
	default:
		dst = wire.Quote(append(dst, `{"type":"message","id":`...), w.id("msg", index))
		dst = append(dst, `,"role":"assistant","content":[`...)
		if done {
			dst = w.part(dst, p)
		}
		dst = append(dst, ']')
	}
	return append(wire.Quote(append(dst, `,"status":`...), status), '}')
}

// part writes the text of a message.
func (w *writer) part(dst []byte, p wire.Part) []byte {
	dst = wire.Quote(append(dst, `{"type":"output_text","text":`...), p.Text)
	return append(wire.Logprobs(append(dst, `,"annotations":[],"logprobs":`...), w.shown(p.Tokens)), '}')
}

// shown are the tokens whose log-probs the client asked for.
func (w *writer) shown(tokens []wire.Token) []wire.Token {
	if !w.request.Options.Logprobs {
		return nil
	}
	return tokens
}

func (w *writer) call(dst []byte, index int, p wire.Part, done bool) []byte {
	tool := w.request.Names.Of(p.Call.Name)
	kind, prefix, field := "function_call", "fc", "arguments"
	if tool.Free {
		kind, prefix, field = "custom_tool_call", "ctc", "input"
	}
	dst = wire.Quote(append(dst, `{"type":`...), kind)
	dst = wire.Quote(append(dst, `,"id":`...), w.id(prefix, index))
	dst = wire.Quote(append(dst, `,"call_id":`...), p.Call.ID)
	dst = wire.Quote(append(dst, `,"name":`...), tool.Name)
	if tool.Namespace != "" {
		dst = wire.Quote(append(dst, `,"namespace":`...), tool.Namespace)
	}
	text := ""
	if done {
		text = wire.Written(p.Call, tool.Free)
	}
	return wire.Quote(append(wire.Quote(append(dst, ','), field), ':'), text)
}
