// The template for models that we make ourselves.

package chat

import (
	_ "embed"
	"fmt"
)

//go:embed chat_template.jinja
var builtinSource string

// BuiltinTemplate returns the text of Molt's own chat template: ChatML with the tool-call and thinking forms of Qwen3, but
// nothing that rewrites earlier turns. It belongs into chat_template of the models that are made here.
func BuiltinTemplate() string { return builtinSource }

// ControlToken is a string that a tokenizer for the built-in template must know as one token.
type ControlToken struct {
	Text    string
	Special bool // delimits turns: only a template writes it, and decoding for people drops it
}

// BuiltinControls lists the control tokens of the built-in template.
func BuiltinControls() []ControlToken {
	return []ControlToken{
		{"<|endoftext|>", true}, {"<|im_start|>", true}, {"<|im_end|>", true},
		{"<tool_call>", false}, {"</tool_call>", false}, {"<tool_response>", false}, {"</tool_response>", false},
		{"<think>", false}, {"</think>", false},
	}
}

// Builtin compiles the built-in template.
func Builtin() *Jinja {
	t, err := NewJinja(builtinSource, JinjaOptions{EOS: "<|im_end|>"})
	if err != nil {
		panic(fmt.Sprintf("chat: the built-in template: %v", err))
	}
	return t
}
