package rollout

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molt/agent"
	"molt/chat"
)

// TestTaskSurvivesJSON: a task in a checkpoint is the task that the rollout was given, to the last digit and the order of
// keys, because both reach the prompt.
func TestTaskSurvivesJSON(t *testing.T) {
	schema, err := chat.ParseValue([]byte(`{"z": 1.50, "a": {"type": "object", "b": [1e3, null, "<tag> & \u00e9"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Task{
		ID: "7", Source: "set", Label: `{"b": 1.0}`, Seed: 1<<64 - 1,
		Messages: []chat.Message{
			{Role: chat.User, Content: "what <b>is</b>\u2028 it?"},
			{Role: chat.Assistant, Reasoning: "think", ToolCalls: []chat.ToolCall{{ID: "c", Name: "f", Arguments: schema}}},
		},
		Tools: []chat.ToolSpec{chat.NewToolSpec("f", "does", schema)},
	}
	data, err := json.Marshal(GroupTask{3, want})
	if err != nil {
		t.Fatal(err)
	}
	var back GroupTask
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	text := func(v chat.Value) string { return v.String() }
	if d := cmp.Diff(want, back.Task, cmp.Transformer("text", text)); d != "" {
		t.Errorf("(-want +got)\n%s\n%s", d, data)
	}
}
