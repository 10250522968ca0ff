package script

import (
	"testing"

	"molt/chat"
)

// TestModelShowsImages: in what a user says and a tool returns; everything else is as the built-in template has it.
func TestModelShowsImages(t *testing.T) {
	r, err := Model()
	if err != nil {
		t.Fatal(err)
	}
	picture := chat.Part{Image: &chat.Image{Digest: "sha256:1"}}
	c := chat.Conversation{Messages: []chat.Message{
		chat.NewMessage(chat.User, chat.Part{Text: "a"}, picture, chat.Part{Text: "b"}),
		{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{Name: "f", Arguments: chat.Object()}}},
		chat.NewMessage(chat.Tool, picture),
		{Role: chat.Tool, Content: "<|image|>"},
	}}
	o, err := r.Prompt(c)
	if err != nil || len(o.Images) != 2 || o.Masked != 1 || !r.Local() {
		t.Fatalf("%+v, local %v, %v", o, r.Local(), err)
	}
	const want = "<|im_start|>user\na<|image|>b<|im_end|>\n<|im_start|>assistant\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call><|im_end|>\n" +
		"<|im_start|>user\n<tool_response>\n<|image|>\n</tool_response>\n<tool_response>\n<|image|>\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
	if got := r.Tokenizer().Decode(o.IDs); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}
