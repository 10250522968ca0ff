// What passes between an agent and the session that captures it: messages in, a reply out, or one of two typed failures.

package chat

import (
	"errors"

	"molt/traj"
)

// Reply is one turn of the policy.
type Reply struct {
	Message   Message     // what the sampled text says
	Text      string      // the sampled text, control tokens spelled out
	Finish    traj.Finish // why sampling stopped
	Malformed int         // tool calls that could not be parsed; they stay in Message.Content as text
}

var (
	// ErrBudget ends a rollout whose token budget leaves no room for another turn: the policy used it up.
	ErrBudget = errors.New("token budget used up")
	// ErrInfrastructure marks a turn that failed through no fault of the policy or the agent: the sample may be tried again.
	ErrInfrastructure = errors.New("infrastructure failed")
)
