// Package script plays canned replies as a model, so that a harness can be debugged without one.
//
//	does            reads a file of replies and troubles, and answers requests from it, token for token
//	takes           JSON lines; a tokenizer, or its own small one
//	gives           Read, New (an engine.Generator), Model
//	must not know   sessions, wires, templates
//	start reading   script.go
package script
