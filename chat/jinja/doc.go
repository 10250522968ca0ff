// Package jinja runs chat templates as Python's jinja2 3.1 runs them under transformers' settings.
//
//	does            templates to text: immutable sandbox, trim_blocks, lstrip_blocks, loop controls, the generation tag
//	takes           a template's source; variables as Go values (value.go); the size of the input, which pays for the work
//	gives           Compile, Template.Render, Dict, List, Int, Function
//	must not know   messages, tokenizers, files, clocks
//	start reading   value.go, lex.go, parse.go, eval.go; budget.go says why no template runs for ever
//
// What Python raises is an error here. What this package does not know (inheritance, imports, recursive loops, the rarer
// filters) is an error too, never a guess: scripts/goldens/chat compares it with Python on every pair of operator and
// operand, and on every published template that could be gathered.
package jinja
