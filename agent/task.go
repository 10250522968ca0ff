package agent

import (
	"slices"

	"molt/chat"
)

// Clone returns a task that shares nothing that can be changed: what an environment does to its own reaches no other rollout
// of the group.
func (t Task) Clone() Task {
	t.Tools = slices.Clone(t.Tools)
	t.Messages = slices.Clone(t.Messages)
	for i := range t.Messages {
		m := &t.Messages[i]
		m.ToolCalls, m.Parts = slices.Clone(m.ToolCalls), slices.Clone(m.Parts)
	}
	return t
}

// Prompt is the text of the last message of the user, for agents that want no more than that; "" without one.
func (t Task) Prompt() string {
	for i := len(t.Messages) - 1; i >= 0; i-- {
		if t.Messages[i].Role == chat.User {
			return t.Messages[i].Content
		}
	}
	return ""
}
