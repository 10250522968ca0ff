package responses

import (
	"testing"

	"molt/gateway/wire"
	"molt/gateway/wire/wiretest"
)

func TestReplies(t *testing.T) {
	wiretest.Codec{
		Stream: func(r *wire.Request) wire.Stream { return NewStream(r, false) },
		Encode: func(r *wire.Request, reply *wire.Reply) []byte { return Encode(r, reply, false) },
		Error:  Error,
	}.Run(t)
}
