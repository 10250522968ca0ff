// Package wire is what the codecs of all wires share: the request and the reply in our own words, and JSON read by spans.
//
//	does            canonical requests, deltas, replies and problems; finds the parts of a body that were seen before
//	takes           bytes of a request body
//	gives           Request, Options, Delta, Reply, Problem; Cut, Seen, Fields
//	must not know   HTTP, sessions, engines, tokens' meaning; which vendor spells what how
//	start reading   request.go, reply.go, then scan.go
package wire
