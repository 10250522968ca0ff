// Package parse reads what a model sampled: reasoning, text and tool calls, piece by piece, in the model's own syntax.
//
//	does            one state machine for each family of models: reasoning, then content, then calls; finds the family
//	takes           sampled text in any pieces with the number of tokens of each; the end of the prompt; the tools offered
//	gives           Family, Detect; Parser with its Events; a Reply of Items and of how many leading tokens each ends behind
//	must not know   templates' insides, wires, sessions, engines
//	start reading   event.go, parser.go; then hermes.go as the shortest family
//
// What a caller does:
//
//	p := family.New(prompt, tools)          // prompt: the rendered text, or at least its last line
//	for each sampled token { events = p.Write(text, 1) }
//	events = p.Close()
//	reply := p.Reply()
//
// The pieces change nothing: however the text is split, the events are the same but for the borders between neighbours of
// one kind, and the Reply is the same but for the resolution of its token counts.
package parse
