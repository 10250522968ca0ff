// Arguments of calls, as clients send them back.

package wire

import (
	"strings"

	"molt/chat"
)

// Arguments reads the JSON text of a call's arguments. No text is no arguments.
func Arguments(text, param string) (chat.Value, *Problem) {
	if strings.TrimSpace(text) == "" {
		return chat.Object(), nil
	}
	v, err := chat.ParseValue([]byte(text))
	if err != nil {
		return v, Badf(param, "%v", err)
	}
	if v.Kind() != chat.KindObject {
		return v, Badf(param, "is of type %s; want an object", v.Kind())
	}
	return v, nil
}

// Offered is the specification of a tool as templates show it: a function, whatever the wire called it. Of the client's own
// spec the description and the schema are kept, and further keys such as strict are not: they say how to sample, not what
// the tool is.
func Offered(name, description string, spec chat.Value, schema string, free bool) chat.ToolSpec {
	parameters, ok := spec.Get(schema)
	switch {
	case free:
		text := chat.Object(chat.Member{Name: "type", Value: chat.String("string")})
		parameters = chat.Object(
			chat.Member{Name: "type", Value: chat.String("object")},
			chat.Member{Name: "properties", Value: chat.Object(chat.Member{Name: chat.FreeText, Value: text})},
			chat.Member{Name: "required", Value: chat.Array(chat.String(chat.FreeText))},
		)
	case !ok || parameters.Kind() != chat.KindObject:
		parameters = chat.Object(
			chat.Member{Name: "type", Value: chat.String("object")},
			chat.Member{Name: "properties", Value: chat.Object()},
		)
	}
	return chat.NewToolSpec(name, description, parameters)
}

// Written is the JSON text of a call's arguments, or the text of a tool that takes text.
func Written(c chat.ToolCall, free bool) string {
	if !free {
		return c.Arguments.String()
	}
	text, ok := c.Arguments.Get(chat.FreeText)
	if ok && text.Kind() == chat.KindString {
		return text.Text()
	}
	return c.Arguments.String()
}
