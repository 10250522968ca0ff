// The other contract: an agent that owns its loop. It is given an address that speaks the OpenAI and Anthropic wires, and
// says at the end what its work was worth. Every request it makes there is captured.

package agent

import (
	"cmp"
	"context"

	"molt/traj"
)

// ChatAgent does one task with as many requests to the policy as it takes. Each rollout has its own; Run is called once.
//
// The context ends at the rollout's deadline or when it is cancelled; Run should then return. An error or a panic ends the
// rollout with an outcome that is not graded: return an error when the agent fails, and a Result when the policy does.
// Observation and Terminated of the Result mean nothing here; Truncated says that the agent gave up.
type ChatAgent interface {
	Run(ctx context.Context, c ChatContext) (Result, error)
}

// ChatContext is what a chat agent is given.
type ChatContext struct {
	Task      Task
	Address   Address
	Sampling  Sampling // how the run samples; a request that asks for something else is honoured and recorded, or refused
	MaxLength int      // tokens that a rollout may have
	Enter     Enter    // for Staged agents; nil lets them go on
}

// Address is where one rollout reaches the policy. Whoever knows the key may use it, until the session is closed.
type Address struct {
	Session string `json:"session_id"`
	URL     string `json:"session_url"` // for Anthropic clients: they append /v1/messages
	Key     string `json:"api_key"`
	Model   string `json:"model_name"`
}

// OpenAI is the address as OpenAI clients want it: they append /chat/completions or /responses.
func (a Address) OpenAI() string { return a.URL + "/v1" }

// Sampling is how the policy's replies are sampled. A zero means the run's own value.
type Sampling struct {
	Temperature float64 `json:"temperature,omitzero"`
	TopP        float64 `json:"top_p,omitzero"`
	TopK        int     `json:"top_k,omitzero"`
	MaxTokens   int     `json:"max_tokens,omitzero"`
}

// With is s where t leaves it as it is.
func (s Sampling) With(t Sampling) Sampling {
	return Sampling{cmp.Or(t.Temperature, s.Temperature), cmp.Or(t.TopP, s.TopP), cmp.Or(t.TopK, s.TopK), cmp.Or(t.MaxTokens, s.MaxTokens)}
}

// Resampler is a Policy whose sampling an environment may change between turns.
type Resampler interface {
	// Resample says how the turns that follow are sampled.
	Resample(Sampling) error
}

// Endpoint is an open session that is reached over HTTP.
type Endpoint interface {
	Address() Address
	// Err is what the session itself met: an error that is chat.ErrBudget when the rollout's tokens are used up,
	// chat.ErrInfrastructure when an engine failed for good; nil otherwise.
	Err() error
	// Nodes returns what was captured, parents first. The caller may change them after Close.
	Nodes() []traj.Node
	// Close ends the session and every request in it. It is called once.
	Close() error
}

// Connect opens the session of a rollout.
type Connect func(job Job) (Endpoint, error)
