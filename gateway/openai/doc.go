// Package openai is the Chat Completions wire, with the older Completions and the list of models.
//
//	does            reads requests into canonical form, writes replies, event streams and errors as OpenAI's clients want them
//	takes           bodies of requests; deltas of replies
//	gives           Decode, DecodeRaw; NewStream, Encode, Error; Models
//	must not know   HTTP, sessions, engines, the other wires
//	start reading   decode.go, then stream.go
package openai
