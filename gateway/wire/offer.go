// The tools that a request offers.

package wire

import "molt/chat"

// Offer is a list of tools as it was parsed.
type Offer struct {
	Tools []chat.ToolSpec
	Names Names
	key   chat.Key
}

// Add enters a tool. spec is what its client says of it, with the schema of its arguments as the member schema.
func (o *Offer) Add(t Tool, description string, spec chat.Value, schema string) {
	o.Tools = append(o.Tools, Offered(o.Names.Add(t), description, spec, schema, t.Free))
}

// ReadOffer reads the list of tools in a span of the body, none when it is empty. kind tells its syntax from others in seen;
// read adds the tools of a list to the offer.
func (r *Request) ReadOffer(span []byte, seen *Seen, kind byte, read func(o *Offer, tools []chat.Value) *Problem) *Problem {
	r.ToolsKey = chat.ToolsKey(nil, nil)
	if len(span) == 0 {
		return nil
	}
	o, p := Remember(seen, kind, span, func(v chat.Value) (Offer, *Problem) {
		o := Offer{Names: Names{}}
		if v.Kind() != chat.KindArray && v.Kind() != chat.KindNull || len(v.Items()) > MaxTools {
			return o, Badf("tools", "is of type %s with %d entries; want an array of up to %d tools", v.Kind(), len(v.Items()), MaxTools)
		}
		if p := read(&o, v.Items()); p != nil {
			return o, p
		}
		o.key = chat.ToolsKey(o.Tools, nil)
		return o, nil
	})
	if p == nil {
		r.Tools, r.Names, r.ToolsKey = o.Tools, o.Names, o.key
	}
	return p
}

// words are the choices that are one word.
var words = map[string]Choice{"auto": {}, "none": {Mode: None}, "required": {Mode: Required}}

// ReadChoice reads the choice of a tool as OpenAI's wires spell it. name reads the name of a tool, within where a choice among
// some of them stands.
func (f *Fields) ReadChoice(r *Request, name func(tool *Fields) string, within func(choice *Fields) *Fields) *Problem {
	const param = "tool_choice"
	v, ok := f.Get(param)
	if !ok {
		return nil
	}
	if c, ok := words[v.Text()]; ok {
		return r.Choose(c, param)
	}
	if v.Kind() != chat.KindObject {
		return Badf(param, "is %.60s; want auto, none, required or a tool", v)
	}
	in := Read(v, param)
	if in.Text("type") != "allowed_tools" {
		return r.Choose(Choice{Mode: Required, Only: []string{name(in)}}, param)
	}
	c, p := within(in).Allowed(name)
	if p != nil {
		return p
	}
	return r.Choose(c, param)
}

// Choose takes the choice of a tool when it can be kept. param names the request's field, for problems.
func (r *Request) Choose(c Choice, param string) *Problem {
	r.Options.Choose = c
	if c.Mode == None || c.Mode == Auto && c.Only == nil {
		return nil
	}
	for _, name := range c.Only {
		if _, offered := r.Names[name]; !offered {
			return Badf(param, "names %.60q, which is not among the tools", name)
		}
	}
	if len(r.Tools) == 0 {
		return Badf(param, "is set, but no tools are offered")
	}
	return nil
}

// Allowed reads a choice among some of the tools: {"mode": "auto" or "required", "tools": [...]}. name reads the name of one.
func (f *Fields) Allowed(name func(tool *Fields) string) (Choice, *Problem) {
	var c Choice
	switch mode := f.Text("mode"); mode {
	case "auto":
	case "required":
		c.Mode = Required
	default:
		f.fail(f.At("mode"), "is %.40q; want auto or required", mode)
	}
	for i, v := range f.Items("tools") {
		in := Read(v, Index(f.At("tools"), i))
		c.Only = append(c.Only, name(in))
		f.adopt(in)
	}
	if len(c.Only) == 0 || len(c.Only) > MaxTools {
		f.fail(f.At("tools"), "has %d entries; want 1 to %d", len(c.Only), MaxTools)
	}
	return c, f.Problem
}
