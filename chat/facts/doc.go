// Package facts tells what a chat template does to a conversation, by rendering small ones.
//
//	does            finds the family of replies, tries it on turns that the template itself writes, and compares renderings
//	                of a growing conversation: which turns extend what the model saw, and which rewrite it
//	takes           a chat.Template, its source, the model's special tokens
//	gives           Describe, Facts
//	must not know   files, engines, tokenization
//	start reading   facts.go
package facts
