// Package serve puts captured sessions on HTTP.
//
//	does            routes, keys, limits, event streams, keep-alive, errors in the vendor's shape; opens and exports sessions
//	takes           a capture.Gateway, a listener
//	gives           Server: a Handler and Serve; Listen
//	must not know   tokens, templates, engines, what a wire's bytes mean (the codecs do)
//	start reading   server.go, route.go, then answer.go
package serve
