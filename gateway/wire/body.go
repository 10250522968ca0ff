// The body of a request, cut into what is looked up by its bytes and what is read anew.

package wire

import (
	"errors"
	"slices"

	"molt/chat"
)

// Body is a request's JSON object in pieces.
type Body struct {
	List   [][]byte          // the elements of the conversation, when it is an array; nil when it is not
	Single []byte            // the conversation, when it is no array; nil when it is missing
	Large  map[string][]byte // the spans of other members that are large and repeat
	Rest   *Fields           // all other members
}

// Cut reads a body whose conversation is called list, in one pass over its bytes.
func Cut(body []byte, list string, large ...string) (Body, *Problem) {
	b := Body{Large: map[string][]byte{}}
	var rest []chat.Member
	err := Members(body, func(name string, data []byte) (n int, err error) {
		if name == list && len(data) > 0 && data[0] == '[' {
			b.List, n, err = Spans(data)
			if b.List == nil {
				b.List = [][]byte{}
			}
			return n, err
		}
		if n, err = Length(data); err != nil {
			return 0, err
		}
		switch {
		case name == list:
			b.Single = data[:n]
		case slices.Contains(large, name):
			b.Large[name] = data[:n]
		default:
			v, err := chat.ParseValue(data[:n])
			if err != nil {
				return 0, Badf(name, "%v", err)
			}
			rest = append(rest, chat.Member{Name: name, Value: v})
		}
		return n, nil
	})
	if p, ok := errors.AsType[*Problem](err); ok {
		return b, p
	}
	if err != nil {
		return b, Badf("", "the body is not the JSON of a request: %v", err)
	}
	b.Rest = Read(chat.Object(rest...), "")
	return b, nil
}

// Each calls read with each element of the conversation. Its problem is named by the element.
func (b *Body) Each(list string, read func(span []byte) *Problem) *Problem {
	for i, span := range b.List {
		if p := read(span); p != nil {
			return &Problem{Class: p.Class, Param: Join(Index(list, i), p.Param), Message: p.Message}
		}
	}
	return nil
}
