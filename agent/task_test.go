package agent

import (
	"reflect"
	"testing"

	"molt/chat"
)

// TestCloneSharesNothing changes everything that can be reached from a clone. Whoever adds a field that can be changed must
// copy it: the fields of today are counted.
func TestCloneSharesNothing(t *testing.T) {
	make := func() Task {
		return Task{ID: "1", Tools: []chat.ToolSpec{{Name: "look"}}, Messages: []chat.Message{
			{Role: chat.User, Content: "hello", Parts: []chat.Part{{Text: "hello"}}},
			{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "a", Name: "look"}}},
		}}
	}
	task := make()
	clone := task.Clone()
	if !reflect.DeepEqual(clone, task) {
		t.Fatalf("%+v; want %+v", clone, task)
	}
	clone.Messages[0].Content = "bye"
	clone.Messages[0].Parts[0].Text = "bye"
	clone.Messages[1].ToolCalls[0].ID = "b"
	clone.Tools[0].Name = "touch"
	_ = append(clone.Messages[:1], chat.Message{})
	if !reflect.DeepEqual(task, make()) {
		t.Errorf("the original became %+v", task)
	}
	for of, want := range map[reflect.Type]int{reflect.TypeFor[Task](): 2, reflect.TypeFor[chat.Message](): 2} {
		slices := 0
		for f := range of.Fields() {
			switch f.Type.Kind() {
			case reflect.Slice:
				slices++
			case reflect.Map, reflect.Pointer, reflect.Interface:
				t.Errorf("%v.%s can be changed and is not copied", of, f.Name)
			}
		}
		if slices != want {
			t.Errorf("%v has %d slices; Clone copies %d", of, slices, want)
		}
	}
	if empty := (Task{}).Clone(); empty.Messages != nil || empty.Tools != nil {
		t.Errorf("%+v", empty)
	}
}

func TestPrompt(t *testing.T) {
	said := []chat.Message{{Role: chat.System, Content: "be brief"}, {Role: chat.User, Content: "one"}, {Role: chat.User, Content: "two"}, {Role: chat.Assistant, Content: "three"}}
	if got := (Task{Messages: said}).Prompt(); got != "two" {
		t.Errorf("got %q", got)
	}
	if got := (Task{Messages: said[:1]}).Prompt(); got != "" {
		t.Errorf("got %q where the user says nothing", got)
	}
}
