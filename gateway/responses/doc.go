// Package responses is the Responses wire.
//
//	does            reads typed items into messages, writes response objects, event streams and errors as OpenAI's clients want them
//	takes           bodies of requests; deltas of replies
//	gives           Decode; NewStream, Encode, Error; Piece
//	must not know   HTTP, sessions, engines, the other wires
//	start reading   decode.go and pieces.go, then stream.go
package responses
