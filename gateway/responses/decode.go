// Requests of the Responses API.

package responses

import (
	"molt/chat"
	"molt/gateway/wire"
)

// Lookup finds the piece of an earlier reply by the id of its item; false when there is none.
type Lookup func(id string) (chat.Message, bool)

// Decode reads a request. Keys that say nothing about the reply are ignored, whatever they are. lookup may be nil.
func Decode(body []byte, seen *wire.Seen, lookup Lookup) (*wire.Request, *wire.Problem) {
	b, p := wire.Cut(body, "input", "tools")
	if p != nil {
		return nil, p
	}
	r := &wire.Request{Names: wire.Names{}}
	if p := r.ReadOffer(b.Large["tools"], seen, 'T', readTools); p != nil {
		return nil, p
	}
	if p := readOptions(r, b.Rest); p != nil {
		return nil, p
	}
	if p := readInput(r, b, seen, lookup); p != nil {
		return nil, p
	}
	r.Echo = echo(b.Rest)
	return r, nil
}

func readTools(o *wire.Offer, tools []chat.Value) *wire.Problem { return offer(o, tools, "tools", "") }

// offer enters functions, tools that take text, and namespaces of both. Tools that the vendor would run, such as a search,
// are left out: nobody here runs them.
func offer(o *wire.Offer, items []chat.Value, path, namespace string) *wire.Problem {
	for i, item := range items {
		f := wire.Read(item, wire.Index(path, i))
		switch kind := f.Text("type"); {
		case kind == "namespace" && namespace == "":
			if p := offer(o, f.Items("tools"), f.At("tools"), f.Need("name")); p != nil {
				return p
			}
		case kind == "function" || kind == "custom":
			o.Add(wire.Tool{Namespace: namespace, Name: f.Need("name"), Free: kind == "custom", Strict: f.Flag("strict", false)}, f.Text("description"), item, "parameters")
		}
		if f.Problem != nil {
			return f.Problem
		}
		if len(o.Tools) > wire.MaxTools {
			return wire.Badf(path, "more than %d tools", wire.MaxTools)
		}
	}
	return nil
}

func readOptions(r *wire.Request, f *wire.Fields) *wire.Problem {
	r.Store = f.Flag("store", true)
	r.Previous = f.Text("previous_response_id")
	o := &r.Options
	f.Common(r)
	if n := f.Int("max_output_tokens", 1, 1<<31-1); n != nil {
		o.MaxTokens = int(*n)
	}
	o.Stop = f.Stops("stop")
	o.Single = !f.Flag("parallel_tool_calls", true)
	for _, v := range f.Items("include") {
		o.Logprobs = o.Logprobs || v.Text() == "message.output_text.logprobs"
	}
	f.Alternatives(o)
	if reasoning, ok := f.Get("reasoning"); ok {
		o.Effort = wire.Read(reasoning, "reasoning").Text("effort")
	}
	if f.Flag("background", false) {
		return wire.Badf("background", "replies are not made in the background")
	}
	if _, ok := f.Get("conversation"); ok {
		return wire.Badf("conversation", "conversations are not stored; send the input, or previous_response_id")
	}
	if text, ok := f.Get("text"); ok {
		t := wire.Read(text, "text")
		if o.Format = t.ReadFormat("format"); t.Problem != nil {
			return t.Problem
		}
	}
	if p := f.ReadChoice(r, toolName, func(choice *wire.Fields) *wire.Fields { return choice }); p != nil {
		return p
	}
	return f.Problem
}

// toolName is the name of a tool, with that of its namespace.
func toolName(f *wire.Fields) string {
	name := f.Text("name")
	if space := f.Text("namespace"); space != "" {
		name = space + "." + name
	}
	return name
}

// echo is what the response object repeats of the request, or its neutral form. Instructions and tools are not repeated:
// they would be the larger part of every stream.
func echo(f *wire.Fields) []byte {
	dst := []byte(`"background":false,"instructions":null,"tools":[],"service_tier":"default"`)
	for _, m := range []struct{ name, neutral string }{
		{"max_output_tokens", "null"}, {"metadata", "{}"}, {"parallel_tool_calls", "true"}, {"previous_response_id", "null"},
		{"prompt_cache_key", "null"}, {"reasoning", `{"effort":null,"summary":null}`}, {"store", "true"}, {"temperature", "1"},
		{"text", `{"format":{"type":"text"}}`}, {"tool_choice", `"auto"`}, {"top_logprobs", "0"}, {"top_p", "1"}, {"truncation", `"disabled"`}, {"user", "null"},
	} {
		dst = wire.Quote(append(dst, ','), m.name)
		dst = append(dst, ':')
		if v, ok := f.Get(m.name); ok {
			dst = v.AppendJSON(dst)
		} else {
			dst = append(dst, m.neutral...)
		}
	}
	return dst
}
