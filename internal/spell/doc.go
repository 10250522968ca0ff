// Package spell writes what people read.
//
//	does            spells numbers, sizes, shell words and names that are nearly right
//	takes           a number, a word, the names there are
//	gives           the text that people read
//	must not know   where it is shown
//	start reading   near.go
package spell
