// Whole replies.

package openai

import (
	"molt/gateway/wire"
)

// Encode writes the reply to a request that does not stream. raw is for Completions.
func Encode(r *wire.Request, reply *wire.Reply, raw bool) []byte {
	f := formOf(r, raw)
	dst := f.head(nil, &reply.Meta, false)
	dst = append(dst, `,"service_tier":"default","choices":[`...)
	usage := count{prompt: reply.Meta.Prompt}
	for i := range reply.Choices {
		c := &reply.Choices[i]
		dst = f.choice(wire.Number(append(wire.Comma(dst, i), `{"index":`...), int64(i)), c)
		if raw {
			dst = promptIDs(dst, reply.Meta.IDs)
		}
		dst = append(dst, '}')
		usage.cached = max(usage.cached, c.End.Cached)
	}
	dst = append(dst, ']', ',')
	usage.sampled, usage.reasoning = reply.Sampled()
	dst = usage.append(dst)
	if !raw {
		dst = promptIDs(dst, reply.Meta.IDs)
	}
	return append(dst, '}')
}

func (f *form) choice(dst []byte, c *wire.Chosen) []byte {
	if f.raw {
		dst = wire.Quote(append(dst, `,"text":`...), c.Text(wire.Content))
	} else {
		dst = f.message(append(dst, `,"message":`...), c)
	}
	dst = f.tokens(dst, c.Tokens)
	return wire.Quote(append(dst, `,"finish_reason":`...), finish(c.End, c.Called()))
}

func (f *form) message(dst []byte, c *wire.Chosen) []byte {
	dst = append(dst, `{"role":"assistant","content":`...)
	if text := c.Text(wire.Content); text != "" || !c.Called() {
		dst = wire.Quote(dst, text)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"refusal":null,"annotations":[]`...)
	if text := c.Text(wire.Reasoning); text != "" {
		dst = wire.Quote(append(dst, `,"reasoning_content":`...), text)
	}
	if c.Called() {
		dst = append(dst, `,"tool_calls":[`...)
		n := 0
		for _, p := range c.Parts {
			if p.Kind == wire.Call {
				dst = append(f.call(append(wire.Comma(dst, n), '{'), p.Call, true, true), '}')
				n++
			}
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}
