// Package models is a model folder and everything in it.
//
//	does            opens, describes, makes and writes a model as its user names it: a Hugging Face folder
//	takes           a path, or the shape of a model and texts for its tokenizer
//	gives           weights, tokenizer and template that fit each other, or one sentence why not
//	must not know   training, runs
//	start reading   model.go
package models
