// The list of models, in a form that clients of OpenAI and of Anthropic both read.

package openai

import (
	"time"

	"molt/gateway/wire"
)

// Models is the answer to GET /v1/models: one model.
func Models(name string, created int64, context int) []byte {
	dst := append([]byte(`{"object":"list","data":[`), Model(name, created, context)...)
	dst = wire.Quote(append(dst, `],"has_more":false,"first_id":`...), name)
	dst = wire.Quote(append(dst, `,"last_id":`...), name)
	return append(dst, '}')
}

// Model is the answer to GET /v1/models/{id}.
func Model(name string, created int64, context int) []byte {
	dst := wire.Quote([]byte(`{"id":`), name)
	dst = wire.Number(append(dst, `,"object":"model","type":"model","created":`...), created)
	dst = wire.Quote(append(dst, `,"created_at":`...), time.Unix(created, 0).UTC().Format(time.RFC3339))
	dst = wire.Quote(append(dst, `,"display_name":`...), name)
	dst = wire.Number(append(dst, `,"owned_by":"molt","max_model_len":`...), int64(context))
	return append(dst, '}')
}
