// Package inspect shows what a model's texts and weights do, one JSON object a line: for people who debug prompts, and for
// comparing with other implementations.
//
//	does            text to ids and back, conversations to prompts, ids to logits
//	takes           JSON lines
//	gives           a JSON line for each, {"error": …} where it was refused
//	must not know   runs, training, sampling
//	start reading   inspect.go
package inspect
