package main

import (
	"context"
	"testing"

	"molt/agent"
	"molt/chat"
	"molt/traj"
)

// half offers the policy a tool that says in which half of the numbers the hidden one is.
type half struct{ game }

func (h *half) Reset(ctx context.Context, task agent.Task) (agent.Start, error) {
	start, err := h.game.Reset(ctx, task)
	start.Tools = []chat.ToolSpec{chat.NewToolSpec("half", "Says whether the number is above the middle.", chat.Object(
		chat.Member{Name: "type", Value: chat.String("object")},
		chat.Member{Name: "properties", Value: chat.Object()},
	))}
	return start, err
}

func (h *half) Step(ctx context.Context, a agent.Action) (agent.Result, error) {
	if len(a.Message.ToolCalls) == 0 {
		return h.game.Step(ctx, a)
	}
	var answers []chat.Message
	for _, call := range a.Message.ToolCalls {
		text := "error: no such tool"
		if call.Name == "half" && 2*h.hidden > h.Most {
			text = "above the middle"
		} else if call.Name == "half" {
			text = "not above the middle"
		}
		answers = append(answers, chat.Message{Role: chat.Tool, Content: text, ToolCallID: call.ID})
	}
	return agent.Result{Observation: answers, Truncated: a.Turn+1 >= h.Tries}, nil
}

func TestATool(t *testing.T) {
	create := func() agent.Env { return &half{game{settings: settings{Most: 20, Tries: 5}}} }
	task := agent.Task{ID: "1", Messages: say("Guess my number, from 1 to 20."), Label: "17"}
	rollout, said := agent.Rehearse(context.Background(), create, task,
		"<tool_call>\n{\"name\": \"half\", \"arguments\": {}}\n</tool_call>", "<tool_call>\n{\"name\": \"third\", \"arguments\": {}}\n</tool_call>", "17")
	if rollout.Outcome != traj.Completed || rollout.Reward != 1 {
		t.Errorf("%s with reward %v: %s", rollout.Outcome, rollout.Reward, rollout.Detail)
	}
	var heard []string
	for _, m := range said.Messages {
		if m.Role == chat.Tool {
			heard = append(heard, m.Content)
		}
	}
	if len(said.Tools) != 1 || len(heard) != 2 || heard[0] != "above the middle" || heard[1] != "error: no such tool" {
		t.Errorf("offered %v, heard %q", said.Tools, heard)
	}
}
