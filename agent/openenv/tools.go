// Environments with tools (OpenEnv's MCP environments): the policy is offered what the environment lists, and its calls are steps.

package openenv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"molt/chat"
)

// offered asks what tools there are.
func (e *env) offered(ctx context.Context) ([]chat.ToolSpec, error) {
	s, err := e.session.ask(ctx, "step", chat.Object(chat.Member{Name: "type", Value: chat.String("list_tools")}))
	if err != nil {
		return nil, fmt.Errorf("listing tools: %w", err)
	}
	listed, _ := s.observation.Get("tools")
	var tools []chat.ToolSpec
	for _, tool := range listed.Items() {
		name, _ := tool.Get("name")
		does, _ := tool.Get("description")
		parameters, _ := tool.Get("input_schema")
		if name.Text() == "" || parameters.Kind() != chat.KindObject {
			return nil, fmt.Errorf("the environment lists a tool without name or input_schema: %.200s", tool.String())
		}
		tools = append(tools, chat.NewToolSpec(name.Text(), does.Text(), parameters))
	}
	if tools == nil {
		return nil, errors.New("the environment has no tools: say with action how a reply becomes an action")
	}
	return tools, nil
}

// callAll makes the calls of a reply, in their order, until one of them ends the episode.
func (e *env) callAll(ctx context.Context, calls []chat.ToolCall) (answers []chat.Message, done bool, err error) {
	for _, call := range calls {
		s, err := e.session.ask(ctx, "step", chat.Object(
			chat.Member{Name: "type", Value: chat.String("call_tool")},
			chat.Member{Name: "tool_name", Value: chat.String(call.Name)},
			chat.Member{Name: "arguments", Value: call.Arguments},
		))
		text, err := e.told(err)
		if err == nil && text == "" {
			e.earn(s)
			text, err = answered(s.observation)
		}
		if err != nil {
			return nil, false, err
		}
		answers = append(answers, chat.Message{Role: chat.Tool, Content: text, ToolCallID: call.ID, Name: call.Name})
		if s.done {
			return answers, true, nil
		}
	}
	return answers, false, nil
}

// answered is what a call came to. What the policy got wrong it is told; what the environment could not do is its failure.
func answered(observation chat.Value) (string, error) {
	if failed, _ := observation.Get("error"); failed.Kind() == chat.KindObject {
		kind, _ := failed.Get("error_type")
		message, _ := failed.Get("message")
		switch kind.Text() {
		case "transport_error", "timeout":
			return "", fmt.Errorf("%w: the environment's tool: %s: %s", chat.ErrInfrastructure, kind.Text(), message.Text())
		}
		return "error: " + message.Text(), nil
	}
	result, ok := observation.Get("result")
	if !ok {
		return show("", observation)
	}
	content, _ := result.Get("content")
	var texts []string
	for _, part := range content.Items() {
		if text, _ := part.Get("text"); text.Kind() == chat.KindString {
			texts = append(texts, text.Text())
		}
	}
	if texts != nil {
		return strings.Join(texts, "\n"), nil
	}
	return plain(result), nil
}
