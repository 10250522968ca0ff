// Completions: a prompt as text or ids, without a chat template.

package openai

import (
	"molt/chat"
	"molt/gateway/wire"
)

// DecodeRaw reads a request of Completions.
func DecodeRaw(body []byte) (*wire.Request, *wire.Problem) {
	v, err := chat.ParseValue(body)
	if err != nil {
		return nil, wire.Badf("", "the body is not the JSON of a request: %v", err)
	}
	r := &wire.Request{Names: wire.Names{}, ToolsKey: chat.ToolsKey(nil, nil)}
	f := wire.Read(v, "")
	if f.Problem != nil {
		return nil, f.Problem
	}
	prompt, _ := f.Get("prompt")
	if p := readPrompt(r, prompt); p != nil {
		return nil, p
	}
	var rest []chat.Member
	top := f.Int("logprobs", 0, wire.MaxTop) // how many alternatives
	for _, m := range v.Members() {
		if m.Name != "logprobs" && m.Name != "top_logprobs" && m.Name != "tool_choice" {
			rest = append(rest, m)
		}
	}
	p := readOptions(r, wire.Read(chat.Object(rest...), ""))
	if p != nil {
		return nil, p
	}
	if len(r.Options.Variables) > 0 {
		return nil, wire.Badf("chat_template_kwargs", "is set, and completions have no chat template")
	}
	if top != nil {
		r.Options.Logprobs, r.Options.Top = true, int(*top)
	}
	if n := r.Options.Choices; f.Int("best_of", int64(n), int64(n)) == nil && f.Problem != nil {
		return nil, f.Problem
	}
	if f.Flag("echo", false) || f.Text("suffix") != "" {
		return nil, wire.Badf("echo", "echo and suffix are not supported")
	}
	if f.Problem != nil {
		return nil, f.Problem
	}
	return r, nil
}

func readPrompt(r *wire.Request, v chat.Value) *wire.Problem {
	if len(v.Items()) == 1 && v.Items()[0].Kind() != chat.KindInt {
		v = v.Items()[0]
	}
	if v.Kind() == chat.KindString && v.Text() != "" {
		r.Text = v.Text()
		return nil
	}
	for _, item := range v.Items() {
		id, ok := item.Int64()
		if !ok || id < 0 || id > 1<<31-1 {
			return wire.Badf("prompt", "holds %.40s; want text, or a list of token ids", item)
		}
		r.Prompt = append(r.Prompt, int32(id))
	}
	if len(r.Prompt) == 0 {
		return wire.Badf("prompt", "is empty; want text, or a list of token ids")
	}
	return nil
}
