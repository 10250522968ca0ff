package anthropic

import (
	"testing"

	"molt/gateway/wire"
	"molt/gateway/wire/wiretest"
)

func TestReplies(t *testing.T) {
	wiretest.Codec{
		Stream: func(r *wire.Request) wire.Stream { return NewStream(r) },
		Encode: func(r *wire.Request, reply *wire.Reply) []byte { return Encode(r, reply) },
		Error:  Error,
	}.Run(t)
}
