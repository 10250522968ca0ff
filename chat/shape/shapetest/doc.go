// Package shapetest makes tools at random, and checks calls of them by the definition of JSON Schema.
//
//	does            draws tools with schemas; says what is wrong with calls
//	takes           a source of randomness
//	gives           Tools, Specs, Check, Conforms
//	must not know   grammars, and how anything is sampled
//	start reading   tools.go
package shapetest
