// Requests of the Responses API.

package responses

import (
	"encoding/json/jsontext"

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
	if p := readTools(r, b.Large["tools"], seen); p != nil {
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

// offer is a list of tools as it was parsed.
type offer struct {
	tools []chat.ToolSpec
	names wire.Names
	key   chat.Key
}

func readTools(r *wire.Request, span []byte, seen *wire.Seen) *wire.Problem {
	r.ToolsKey = chat.ToolsKey(nil, nil)
	if len(span) == 0 {
		return nil
	}
	o, p := wire.Remember(seen, 'T', span, readOffer)
	if p == nil {
		r.Tools, r.Names, r.ToolsKey = o.tools, o.names, o.key
	}
	return p
}

func readOffer(v chat.Value) (offer, *wire.Problem) {
	o := offer{names: wire.Names{}}
	if v.Kind() != chat.KindArray && v.Kind() != chat.KindNull {
		return o, wire.Badf("tools", "is of type %s; want an array", v.Kind())
	}
	if p := o.add(v.Items(), "tools", ""); p != nil {
		return o, p
	}
	o.key = chat.ToolsKey(o.tools, nil)
	return o, nil
}

// add enters functions, tools that take text, and namespaces of both. Tools that the vendor would run, such as a search, are
// left out: nobody here runs them.
func (o *offer) add(items []chat.Value, path, namespace string) *wire.Problem {
	for i, item := range items {
		f := wire.Read(item, wire.Index(path, i))
		switch kind := f.Text("type"); {
		case kind == "namespace" && namespace == "":
			if p := o.add(f.Items("tools"), f.At("tools"), f.Need("name")); p != nil {
				return p
			}
		case kind == "function" || kind == "custom":
			t := wire.Tool{Namespace: namespace, Name: f.Need("name"), Free: kind == "custom"}
			o.tools = append(o.tools, wire.Offered(o.names.Add(t), f.Text("description"), item, "parameters", t.Free))
		}
		if f.Problem != nil {
			return f.Problem
		}
		if len(o.tools) > wire.MaxTools {
			return wire.Badf(path, "more than %d tools", wire.MaxTools)
		}
	}
	return nil
}

func readOptions(r *wire.Request, f *wire.Fields) *wire.Problem {
	r.Model = f.Text("model")
	r.Stream = f.Flag("stream", false)
	r.Store = f.Flag("store", true)
	r.Previous = f.Text("previous_response_id")
	o := &r.Options
	f.Sampling(o)
	o.Choices = 1
	if n := f.Int("max_output_tokens", 1, 1<<31-1); n != nil {
		o.MaxTokens = int(*n)
	}
	o.Stop = f.Stops("stop")
	o.Single = !f.Flag("parallel_tool_calls", true)
	for _, v := range f.Items("include") {
		o.Logprobs = o.Logprobs || v.Text() == "message.output_text.logprobs"
	}
	f.Neutral("top_logprobs", 0)
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
	if p := readChoice(f, r); p != nil {
		return p
	}
	return f.Problem
}

func readChoice(f *wire.Fields, r *wire.Request) *wire.Problem {
	v, ok := f.Get("tool_choice")
	if !ok {
		return nil
	}
	switch {
	case v.Text() == "auto":
		return nil
	case v.Text() == "none":
		r.Options.Choose.Mode = wire.None
		return nil
	case v.Text() == "required":
		r.Options.Choose.Mode = wire.Required
	case v.Kind() == chat.KindObject:
		c := wire.Read(v, "tool_choice")
		name := c.Text("name")
		if space := c.Text("namespace"); space != "" {
			name = space + "." + name
		}
		if _, offered := r.Names[name]; !offered {
			return wire.Badf("tool_choice", "names %.60q, which is not among the tools", name)
		}
		r.Options.Choose = wire.Choice{Mode: wire.Named, Name: name}
	default:
		return wire.Badf("tool_choice", "is %.60s; want auto, none, required or a tool", v)
	}
	if len(r.Tools) == 0 {
		return wire.Badf("tool_choice", "is set, but no tools are offered")
	}
	return nil
}

// echo is what the response object repeats of the request, or its neutral form. Instructions and tools are not repeated:
// they would be the larger part of every stream.
func echo(f *wire.Fields) []byte {
	dst := []byte(`"background":false,"instructions":null,"tools":[],"service_tier":"default"`)
	for _, m := range []struct{ name, neutral string }{
		{"max_output_tokens", "null"}, {"metadata", "{}"}, {"parallel_tool_calls", "true"}, {"previous_response_id", "null"},
		{"prompt_cache_key", "null"}, {"reasoning", `{"effort":null,"summary":null}`}, {"store", "true"}, {"temperature", "1"},
		{"text", `{"format":{"type":"text"}}`}, {"tool_choice", `"auto"`}, {"top_p", "1"}, {"truncation", `"disabled"`}, {"user", "null"},
	} {
		dst, _ = jsontext.AppendQuote(append(dst, ','), m.name)
		dst = append(dst, ':')
		if v, ok := f.Get(m.name); ok {
			dst = v.AppendJSON(dst)
		} else {
			dst = append(dst, m.neutral...)
		}
	}
	return dst
}
