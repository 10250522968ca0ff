// Package chat turns conversations into token ids and sampled text back into messages.
//
//	does            canonical messages, chat templates under a budget, tool-call and reasoning parsing, extend or branch
//	takes           messages, a chat template, a tokenizer; sampled text
//	gives           Message, Value, Template, Renderer (prompt, bridge, layout), Parser, Stitch
//	must not know   files, clocks, networks, engines, rewards
//	start reading   message.go, then render.go; trust.go says what text from outside can and cannot do
package chat
