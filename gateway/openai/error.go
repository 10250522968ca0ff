// Errors, with the status and code that make clients do the right thing: compact, try again, or give up.

package openai

import (
	"fmt"

	"molt/gateway/wire"
)

// Error returns the HTTP status and the body of a problem.
func Error(p *wire.Problem) (status int, body []byte) {
	c := classes[p.Class]
	dst := wire.Quote([]byte(`{"error":{"message":`), Message(p))
	dst = wire.Quote(append(dst, `,"type":`...), c.kind)
	dst = orNull(append(dst, `,"param":`...), p.Param)
	dst = orNull(append(dst, `,"code":`...), c.code)
	return c.status, append(dst, "}}"...)
}

// Message is what a problem says.
func Message(p *wire.Problem) string {
	if p.Class != wire.Overflow {
		return p.Error()
	}
	return fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. "+
		"Please reduce the length of the messages.", p.Limit, p.Tokens)
}

// Code is the code of a problem, as events inside a stream have it.
func Code(p *wire.Problem) string {
	if c := classes[p.Class]; c.code != "" {
		return c.code
	}
	return classes[p.Class].kind
}

func orNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return wire.Quote(dst, s)
}

var classes = [...]struct {
	status     int
	kind, code string
}{
	wire.Bad:          {400, "invalid_request_error", ""},
	wire.Overflow:     {400, "invalid_request_error", "context_length_exceeded"},
	wire.Unauthorized: {401, "invalid_request_error", "invalid_api_key"},
	wire.Forbidden:    {403, "invalid_request_error", "forbidden"},
	wire.Missing:      {404, "invalid_request_error", "not_found"},
	wire.TooLarge:     {413, "invalid_request_error", "request_too_large"},
	wire.BadMedia:     {415, "invalid_request_error", "unsupported_media_type"},
	wire.Limited:      {429, "rate_limit_error", "rate_limit_exceeded"},
	wire.Overloaded:   {503, "server_error", "server_error"}, // not server_is_overloaded: Codex gives up on that,
	wire.Expired:      {504, "server_error", "timeout"},
	wire.Broken:       {500, "server_error", "internal_error"},
	wire.Upgrade:      {426, "invalid_request_error", "upgrade_not_supported"},
}
