// Package shape says what a whole reply must look like: reasoning, then calls of offered tools or a value in a format, in the
// syntax of a model's family.
//
//	does            writes the syntax that chat/parse reads as a grammar, with the tools' schemas in it
//	takes           a family, the end of the prompt, the tools, what is demanded, how control tokens are spelt
//	gives           Reply: a grammar.Grammar, or why the family cannot keep what is demanded
//	must not know   wires, sessions, engines, sampling
//	start reading   shape.go; forms.go lists what each family writes
package shape
