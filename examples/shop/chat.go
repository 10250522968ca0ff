// The same task for an agent that owns its loop: it talks to the policy as it would to any OpenAI-compatible server.

package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"molt/agent"
	"molt/chat"
	"molt/traj"
)

// Chat is one episode over HTTP.
type Chat struct{ world Env }

// NewChat makes the agent of one episode.
func NewChat() agent.ChatAgent { return &Chat{} }

// Run implements agent.ChatAgent.
func (a *Chat) Run(ctx context.Context, c agent.ChatContext) (agent.Result, error) {
	start, err := a.world.Reset(ctx, c.Task)
	if err != nil {
		return agent.Result{}, err
	}
	var messages []any
	for _, m := range start.Messages {
		messages = append(messages, map[string]any{"role": m.Role, "content": m.Content})
	}
	for turn := 0; ; turn++ {
		said, err := ask(ctx, c.Address, messages)
		if err != nil {
			return agent.Result{}, err
		}
		action := agent.Action{Turn: turn, Reply: chat.Reply{Message: chat.Message{Content: said.Message.Content}}}
		if said.Finish == "length" {
			action.Finish = traj.FinishLength
		}
		action.Message.ToolCalls, action.Malformed = calls(said.Message.Content)
		result, err := a.world.Step(ctx, action)
		if err != nil || result.Terminated || result.Truncated {
			return result, err
		}
		messages = append(messages, said.raw)
		for i, m := range result.Observation {
			messages = append(messages, map[string]any{"role": "tool", "tool_call_id": fmt.Sprintf("call_%d_%d", turn, i), "content": m.Content})
		}
	}
}

// choice is one reply of the policy.
type choice struct {
	Message struct {
		Content string `json:"content"`
	} `json:"message"`
	Finish string          `json:"finish_reason"`
	raw    json.RawMessage // the message as it came, to be sent back
}

const maxReply = 1 << 20 // bytes

// ask sends the conversation. No tools are offered: the policy learned theirs from demonstrations without a list, so its calls
// arrive as text.
func ask(ctx context.Context, at agent.Address, messages []any) (choice, error) {
	var none choice
	body, err := json.Marshal(map[string]any{"model": at.Model, "messages": messages})
	if err != nil {
		return none, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.OpenAI()+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return none, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+at.Key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return none, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxReply))
	if err != nil {
		return none, err
	}
	if answer.StatusCode != http.StatusOK {
		return none, fmt.Errorf("shop: the policy answered %s: %.200q", answer.Status, data)
	}
	return firstChoice(data)
}

func firstChoice(data []byte) (choice, error) {
	var reply struct {
		Choices []json.RawMessage `json:"choices"`
	}
	if err := json.Unmarshal(data, &reply); err != nil || len(reply.Choices) == 0 {
		return choice{}, fmt.Errorf("shop: the policy answered %.200q, which has no choice", data)
	}
	var c choice
	var raw struct {
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(reply.Choices[0], &c); err != nil {
		return choice{}, fmt.Errorf("shop: the policy's reply: %w", err)
	}
	err := json.Unmarshal(reply.Choices[0], &raw)
	c.raw = raw.Message
	return c, err
}

// calls reads the calls that a reply contains as text, and counts those that cannot be read. One that was not closed counts
// as far as it goes.
func calls(text string) (list []chat.ToolCall, malformed int) {
	for {
		_, rest, found := strings.Cut(text, "<tool_call>")
		if !found {
			return list, malformed
		}
		var inner string
		inner, text, _ = strings.Cut(rest, "</tool_call>")
		v, err := chat.ParseValue([]byte(strings.TrimSpace(inner)))
		name, named := v.Get("name")
		arguments, given := v.Get("arguments")
		if err != nil || !named || !given {
			malformed++
			continue
		}
		list = append(list, chat.ToolCall{Name: name.Text(), Arguments: arguments})
	}
}
