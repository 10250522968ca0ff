package agent

import "slices"

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
