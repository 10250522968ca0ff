// Package grammar says which token ids keep a reply on its way: to a value of a JSON schema, or through fixed and free text.
//
//	does            compiles patterns and schemas to a pushdown automaton over bytes; marks, at each state, the ids that may come next
//	takes           the schema's JSON; the bytes that each id of a vocabulary spells
//	gives           Build of Patterns, Schema, Object: a Grammar; Grammar.Walk over a Vocabulary: Allowed, Take
//	must not know   tokenizers, chat templates, engines, sampling
//	start reading   machine.go, pattern.go; schema.go says what of JSON Schema is understood, everything else is refused by name
package grammar
