// Package grammar turns a JSON schema into the sets of token ids that keep a reply on the way to a value that conforms.
//
//	does            compiles a schema to a pushdown automaton over bytes; marks, at each state, the ids that may come next
//	takes           the schema's JSON; the bytes that each id of a vocabulary spells
//	gives           Schema, Object: a Grammar; Grammar.Walk over a Vocabulary: Allowed, Take
//	must not know   tokenizers, chat templates, engines, sampling
//	start reading   machine.go; schema.go says what of JSON Schema is understood, everything else is refused by name
package grammar
