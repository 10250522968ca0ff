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

// Choose takes the choice of a tool when it can be kept. param names the request's field, for problems.
func (r *Request) Choose(c Choice, param string) *Problem {
	r.Options.Choose = c
	if c.Mode == None || c.Mode == Auto {
		return nil
	}
	if _, offered := r.Names[c.Name]; c.Mode == Named && !offered {
		return Badf(param, "names %.60q, which is not among the tools", c.Name)
	}
	if len(r.Tools) == 0 {
		return Badf(param, "is set, but no tools are offered")
	}
	return nil
}
