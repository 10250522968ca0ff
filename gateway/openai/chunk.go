// The JSON that whole replies and streams are made of. Every optional field is there, in the form that says nothing: clients
// in the wild fail on what is missing, each on something else.

package openai

import (
	"slices"

	"molt/chat"
	"molt/gateway/wire"
	"molt/traj"
)

// form is how a request wants its replies.
type form struct {
	names    wire.Names
	logprobs bool
	ids      bool
	usage    bool
	raw      bool // Completions, not Chat Completions
}

func formOf(r *wire.Request, raw bool) form {
	return form{r.Names, r.Options.Logprobs, r.Options.TokenIDs, r.Options.Usage, raw}
}

// head opens the object of a reply.
func (f *form) head(dst []byte, m *wire.Meta, chunk bool) []byte {
	prefix, object := "chatcmpl-", "chat.completion"
	if f.raw {
		prefix, object, chunk = "cmpl-", "text_completion", false
	}
	if chunk {
		object = "chat.completion.chunk"
	}
	dst = wire.Quote(append(dst, `{"id":`...), prefix+m.Turns[0])
	dst = wire.Quote(append(dst, `,"object":`...), object)
	dst = wire.Number(append(dst, `,"created":`...), m.Created)
	dst = wire.Quote(append(dst, `,"model":`...), m.Model)
	return append(dst, `,"system_fingerprint":null`...)
}

// call writes a tool call. With parts, only its opening or only its arguments, as streams have it.
func (f *form) call(dst []byte, c chat.ToolCall, opening, arguments bool) []byte {
	tool := f.names.Of(c.Name)
	kind, text := "function", "arguments"
	if tool.Free {
		kind, text = "custom", "input"
	}
	if opening {
		dst = wire.Quote(append(dst, `"id":`...), c.ID)
		dst = wire.Quote(append(dst, `,"type":`...), kind)
		dst = append(dst, ',')
	}
	dst = append(wire.Quote(dst, kind), `:{`...)
	if opening {
		dst = append(wire.Quote(append(dst, `"name":`...), c.Name), ',')
	}
	written := ""
	if arguments {
		written = wire.Written(c, tool.Free)
	}
	dst = wire.Quote(append(wire.Quote(dst, text), ':'), written)
	return append(dst, '}')
}

// tokens writes log-probs and ids.
func (f *form) tokens(dst []byte, tokens []wire.Token) []byte {
	switch {
	case !f.logprobs || len(tokens) == 0:
		dst = append(dst, `,"logprobs":null`...)
	case f.raw:
		dst = rawLogprobs(dst, tokens)
	default:
		dst = wire.Logprobs(append(dst, `,"logprobs":{"content":`...), tokens)
		dst = append(dst, `,"refusal":null}`...)
	}
	if f.ids {
		dst = append(idList(append(dst, `,"token_ids":[`...), len(tokens), func(i int) int32 { return tokens[i].ID }), ']')
	}
	return dst
}

func rawLogprobs(dst []byte, tokens []wire.Token) []byte {
	dst = append(dst, `,"logprobs":{"tokens":[`...)
	for i, t := range tokens {
		dst = wire.Quote(wire.Comma(dst, i), t.Text)
	}
	dst = append(dst, `],"token_logprobs":[`...)
	for i, t := range tokens {
		dst = wire.Real(wire.Comma(dst, i), t.Logp)
	}
	dst = append(ranked(append(dst, `],"top_logprobs":`...), tokens), `,"text_offset":[`...)
	offset := 0
	for i, t := range tokens {
		dst = wire.Number(wire.Comma(dst, i), int64(offset))
		offset += len(t.Text)
	}
	return append(dst, `]}`...)
}

// ranked writes the alternatives of each token as an object of their texts: of two with one text, the likelier stands.
func ranked(dst []byte, tokens []wire.Token) []byte {
	if len(tokens[0].Top) == 0 {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, t := range tokens {
		dst = append(wire.Comma(dst, i), '{')
		var texts []string
		for _, a := range append(t.Top[:len(t.Top):len(t.Top)], t) {
			if slices.Contains(texts, a.Text) {
				continue
			}
			dst = append(wire.Quote(wire.Comma(dst, len(texts)), a.Text), ':')
			dst = wire.Real(dst, a.Logp)
			texts = append(texts, a.Text)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func idList(dst []byte, n int, id func(int) int32) []byte {
	for i := range n {
		dst = wire.Number(wire.Comma(dst, i), int64(id(i)))
	}
	return dst
}

func promptIDs(dst []byte, ids []int32) []byte {
	if ids == nil {
		return dst
	}
	return append(idList(append(dst, `,"prompt_token_ids":[`...), len(ids), func(i int) int32 { return ids[i] }), ']')
}

func finish(e wire.End, called bool) string {
	switch {
	case e.Finish == traj.FinishLength:
		return "length"
	case called:
		return "tool_calls"
	}
	return "stop"
}

// count is the usage of a reply.
type count struct{ prompt, sampled, reasoning, cached int }

func (c count) append(dst []byte) []byte {
	dst = wire.Number(append(dst, `"usage":{"prompt_tokens":`...), int64(c.prompt))
	dst = wire.Number(append(dst, `,"completion_tokens":`...), int64(c.sampled))
	dst = wire.Number(append(dst, `,"total_tokens":`...), int64(c.prompt+c.sampled))
	dst = wire.Number(append(dst, `,"prompt_tokens_details":{"cached_tokens":`...), int64(c.cached))
	dst = wire.Number(append(dst, `,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":`...), int64(c.reasoning))
	return append(dst, `,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`...)
}
