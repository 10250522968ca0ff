// The tool that policies call, and the words in which it answers.

package sandbox

import (
	"context"
	"fmt"
	"strings"

	"molt/chat"
)

// Spec offers the box as a tool with one argument, the program.
func (b *Box) Spec() chat.ToolSpec {
	what := map[Language]string{
		Python:           "Runs a Python 3 program and returns what it prints.",
		Shell:            "Runs a POSIX shell script and returns what it prints.",
		StarlarkLanguage: "Runs a program in Starlark (a small Python without imports, files and classes; math is there) and returns what it prints.",
	}[b.config.Language]
	code := chat.Object(chat.Member{Name: "type", Value: chat.String("string")}, chat.Member{Name: "description", Value: chat.String("The whole program. Print what you want to know.")})
	parameters := chat.Object(
		chat.Member{Name: "type", Value: chat.String("object")},
		chat.Member{Name: "properties", Value: chat.Object(chat.Member{Name: "code", Value: code})},
		chat.Member{Name: "required", Value: chat.Array(chat.String("code"))},
	)
	return chat.NewToolSpec(string(b.config.Language), what, parameters)
}

// Answer runs the call of a policy and returns what it reads. A program that fails is an answer; an error is ours.
func (b *Box) Answer(ctx context.Context, call chat.ToolCall) (chat.Message, error) {
	answer, _, err := b.run(ctx, call)
	return answer, err
}

func (b *Box) run(ctx context.Context, call chat.ToolCall) (chat.Message, Outcome, error) {
	answer := chat.Message{Role: chat.Tool, ToolCallID: call.ID, Name: call.Name}
	code, ok := call.Arguments.Get("code")
	if !ok || code.Kind() != chat.KindString {
		answer.Content = `error: the argument "code" is missing; it is a string with the whole program`
		return answer, Outcome{Code: 1}, nil
	}
	outcome, err := b.Run(ctx, code.Text())
	if err != nil {
		return chat.Message{}, outcome, err
	}
	answer.Content = outcome.Text(b.config)
	return answer, outcome, nil
}

// Text is what a policy reads of an outcome.
func (o Outcome) Text(c Config) string {
	var parts []string
	if o.Output != "" {
		parts = append(parts, strings.TrimRight(o.Output, "\n"))
	}
	switch {
	case o.TimedOut:
		parts = append(parts, fmt.Sprintf("[timeout after %v]", c.Time))
	case o.Code != 0:
		parts = append(parts, strings.TrimRight(fmt.Sprintf("[exit code %d]\n%s", o.Code, o.Errors), "\n"))
	}
	if len(parts) == 0 {
		return "(no output)"
	}
	return strings.Join(parts, "\n")
}
