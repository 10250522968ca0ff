package responses

import (
	"molt/gateway/openai"
	"molt/gateway/wire"
)

// Error returns the HTTP status and the body of a problem: those of the vendor's other wire.
func Error(p *wire.Problem) (status int, body []byte) { return openai.Error(p) }
