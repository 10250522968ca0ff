// What the engine returned, checked. A reply that breaks the contract is never repaired: an id without a log-prob would train
// on nothing.

package capture

import (
	"fmt"
	"math"

	"molt/chat"
	"molt/engine"
	"molt/traj"
)

// check reports the first broken promise of a reply.
func check(reply engine.Reply, r engine.Request, vocab int) error {
	n := len(reply.Tokens)
	for i, t := range reply.Tokens {
		switch {
		case t.ID < 0 || int(t.ID) >= vocab:
			return broken("sampled id %d at %d is outside the vocabulary of %d", t.ID, i, vocab)
		case !(t.Logp <= 0) || math.IsInf(float64(t.Logp), 0):
			return broken("log-prob %v of sampled token %d is not a finite number <= 0", t.Logp, i)
		case t.Version < 0:
			return broken("sampled token %d has weight version %d", i, t.Version)
		}
	}
	switch {
	case n > r.Sampling.MaxTokens:
		return broken("%d tokens were sampled; %d were asked for", n, r.Sampling.MaxTokens)
	case n == 0 && reply.Finish != traj.FinishAbort:
		return broken("nothing was sampled, with finish %q", reply.Finish)
	case reply.Finish == traj.FinishStop, reply.Finish == traj.FinishLength, reply.Finish == traj.FinishAbort:
		return nil
	}
	return broken("finish %q", reply.Finish)
}

func broken(format string, args ...any) error {
	return fmt.Errorf("the engine broke its contract: "+format+": %w", append(args, chat.ErrInfrastructure)...)
}
