// Errors, with the status and type that make clients do the right thing: compact, try again, or give up.

package anthropic

import (
	"fmt"

	"molt/gateway/wire"
)

// Error returns the HTTP status and the body of a problem. The words for a conversation that is too long are those that make
// clients compact it.
func Error(p *wire.Problem) (status int, body []byte) {
	c := classes[p.Class]
	message := p.Error()
	if p.Class == wire.Overflow {
		message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", p.Tokens, p.Limit)
	}
	dst := wire.Quote([]byte(`{"type":"error","error":{"type":`), c.kind)
	dst = wire.Quote(append(dst, `,"message":`...), message)
	return c.status, append(dst, `},"request_id":null}`...)
}

var classes = [...]struct {
	status int
	kind   string
}{
	wire.Bad:          {400, "invalid_request_error"},
	wire.Overflow:     {400, "invalid_request_error"},
	wire.Unauthorized: {401, "authentication_error"},
	wire.Forbidden:    {403, "permission_error"},
	wire.Missing:      {404, "not_found_error"},
	wire.TooLarge:     {413, "request_too_large"},
	wire.BadMedia:     {415, "invalid_request_error"},
	wire.Limited:      {429, "rate_limit_error"},
	wire.Overloaded:   {529, "overloaded_error"},
	wire.Expired:      {504, "timeout_error"},
	wire.Broken:       {500, "api_error"},
	wire.Upgrade:      {426, "invalid_request_error"},
}
