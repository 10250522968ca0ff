// Package anthropic is the Messages wire.
//
//	does            reads requests into canonical form, writes replies, event streams and errors as Anthropic's clients want them
//	takes           bodies of requests; deltas of replies
//	gives           Decode; NewStream, Encode, Error, Count
//	must not know   HTTP, sessions, engines, the other wires
//	start reading   decode.go, blocks.go, then stream.go
package anthropic
