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

// BuiltinSpecials lists the control tokens that delimit turns in the built-in template: only a template writes them.
func BuiltinSpecials() []string { return []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"} }

// BuiltinMarkup lists the control tokens inside turns of the built-in template. The policy samples them too.
func BuiltinMarkup() []string {
	return []string{"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"}
}

// Builtin compiles the built-in template.
func Builtin() *Jinja {
	t, err := NewJinja(builtinSource, JinjaOptions{EOS: "<|im_end|>"})
	if err != nil {
		panic(fmt.Sprintf("chat: the built-in template: %v", err))
	}
	return t
}
