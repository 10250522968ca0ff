// Small bodies that become Go structs, with mistakes in the words of those who write JSON.

package wire

import (
	"encoding/json/v2"
	"errors"
	"reflect"
	"strings"

	"molt/chat"
)

// Fill reads a JSON object into a struct. What does not fit is named by its field, and nothing of Go shows.
func Fill(into any, body []byte) *Problem {
	if _, err := chat.ParseValue(body); err != nil { // bounds depth, refuses what is not JSON
		return Badf("", "%v", err)
	}
	err := json.Unmarshal(body, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	wrong, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return Badf("", "%v", err)
	}
	path := ""
	for {
		for name := range wrong.JSONPointer.Tokens() {
			path = Join(path, name)
		}
		inner, nested := errors.AsType[*json.SemanticError](wrong.Err)
		if !nested {
			break
		}
		wrong = inner
	}
	switch {
	case errors.Is(wrong.Err, json.ErrUnknownName):
		return Badf(path, "there is no such field")
	case wrong.GoType == nil || wanted(wrong.GoType) == "" || kinds[wrong.JSONKind.String()] == "":
		return Badf(path, "cannot be read")
	}
	return Badf(path, "is %s; want %s", kinds[wrong.JSONKind.String()], wanted(wrong.GoType))
}

var kinds = map[string]string{
	"null": "null", "false": "false", "true": "true", "string": "a string", "number": "a number out of range", "{": "an object", "[": "an array",
}

// wanted is what a field takes, "" where that has no word.
func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch k := t.Kind(); {
	case k == reflect.String:
		return "a string"
	case k == reflect.Bool:
		return "true or false"
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return "an integer, 0 or more"
	case k >= reflect.Int && k <= reflect.Int64:
		return "an integer"
	case strings.HasPrefix(k.String(), "float"):
		return "a number"
	case k == reflect.Struct || k == reflect.Map:
		return "an object"
	case k == reflect.Slice:
		return "an array"
	}
	return ""
}
