// The list of models, in a form that clients of OpenAI and of Anthropic both read.

package openai

import (
	"time"
)

// Models is the answer to GET /v1/models: one model.
func Models(name string, created int64, context int) []byte {
	dst := append([]byte(`{"object":"list","data":[`), Model(name, created, context)...)
	dst = quote(append(dst, `],"has_more":false,"first_id":`...), name)
	dst = quote(append(dst, `,"last_id":`...), name)
	return append(dst, '}')
}

// Model is the answer to GET /v1/models/{id}.
func Model(name string, created int64, context int) []byte {
	dst := quote([]byte(`{"id":`), name)
	dst = number(append(dst, `,"object":"model","type":"model","created":`...), created)
	dst = quote(append(dst, `,"created_at":`...), time.Unix(created, 0).UTC().Format(time.RFC3339))
	dst = quote(append(dst, `,"display_name":`...), name)
	dst = number(append(dst, `,"owned_by":"molt","max_model_len":`...), int64(context))
	return append(dst, '}')
}
