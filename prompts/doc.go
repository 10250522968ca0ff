// Package prompts reads prompt sets and deals them out in an order that a cursor can restore.
//
//	does            parses JSONL with the caller's keys, names every bad row, mixes sets by weight, shuffles each epoch
//	takes           files, which nobody vouches for; keys, weights, a seed
//	gives           Prompts, one after the other; a Cursor that goes on exactly
//	must not know   chat templates, tokenizers, agents, what a message or a tool means
//	start reading   prompt.go, then row.go (one line), file.go (one file), stream.go (the order)
package prompts
