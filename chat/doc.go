// Package chat turns conversations into token ids and sampled text back into messages.
//
//	does            canonical messages, prompts and bridges by a model's own template, supervised layouts
//	takes           messages, a chat template, a tokenizer; sampled text
//	gives           Message, Value, Template, Renderer (prompt, bridge, layout)
//	must not know   files, clocks, networks, engines, rewards
//	start reading   message.go, then render.go; jinja/ runs templates, parse/ reads replies, facts/ tells what a template does;
//	                trust.go says what text from outside can and cannot do
package chat
