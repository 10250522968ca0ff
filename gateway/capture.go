// What the engine returned, checked and kept. A reply that breaks the contract is never repaired: an id without a log-prob
// would train on nothing, and a path that is not what the engine was given would train on something else.

package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"molt/chat"
	"molt/engine"
	"molt/traj"
)

// failure types an error of the engine. turns counts the turns before.
func failure(err error, turns int) error {
	if errors.Is(err, engine.ErrTooLong) && turns > 0 {
		return fmt.Errorf("%w: %w", chat.ErrBudget, err)
	}
	return fmt.Errorf("%w: %w", chat.ErrInfrastructure, err)
}

// aborted types a turn that was cut by its context, or by an engine that closed under it.
func aborted(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("the turn was cancelled: %w", context.Cause(ctx))
	}
	return fmt.Errorf("the engine aborted the turn: %w", chat.ErrInfrastructure)
}

// Check reports the first broken promise of a reply.
func Check(reply engine.Reply, r engine.Request, vocab int) error {
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

// keep appends a node: what was shown, then what was sampled.
func (s *Session) keep(o chat.Observation, images []traj.Image, reply engine.Reply, temperature float32, reason chat.Reason) {
	n := traj.Node{
		Parent:      s.leaf,
		Observation: slices.Clone(o.IDs),
		Images:      images,
		Temperature: temperature,
		Finish:      reply.Finish,
	}
	if reason != "" {
		n.Parent, s.ids, s.images = -1, nil, nil
		if len(s.nodes) > 0 {
			n.NewSegment = string(reason)
		}
	}
	for _, t := range reply.Tokens {
		n.Sampled = append(n.Sampled, t.ID)
		n.LogpGen = append(n.LogpGen, t.Logp)
		n.Version = append(n.Version, t.Version)
	}
	s.leaf = len(s.nodes)
	s.nodes = append(s.nodes, n)
	s.images = append(s.images, traj.Shift(images, len(s.ids))...)
	s.ids = append(append(s.ids, n.Observation...), n.Sampled...)
}

// sees refuses images where the model is for text only.
func (g *Gateway) sees(messages []chat.Message) error {
	if n := len(chat.Images(messages...)); n > 0 && !g.config.Generator.Capabilities().Images {
		return fmt.Errorf("%d images are shown, and the model is a text-only model: leave them out", n)
	}
	return nil
}

// placed are the images of the messages that an observation shows.
func placed(o chat.Observation, messages []chat.Message) []traj.Image {
	var images []traj.Image
	for i, at := range o.Images {
		m := chat.Images(messages...)[i]
		images = append(images, traj.Image{At: at, Digest: m.Digest, Media: m.Media, Data: m.Data()})
	}
	return images
}

// identical checks token identity for the newest node: the ids along its path are those that the engine was given, and
// behind them those that it returned.
func (s *Session) identical(prompt []int32) error {
	at := len(prompt)
	for i := s.leaf; i >= 0; i = s.nodes[i].Parent {
		n := &s.nodes[i]
		parts := [][]int32{n.Sampled, n.Observation}
		if i == s.leaf {
			parts = parts[1:]
		}
		for _, part := range parts {
			at -= len(part)
			if at < 0 || !slices.Equal(part, prompt[at:at+len(part)]) {
				return fmt.Errorf("node %d is not what the engine was given: %w", i, errIdentity)
			}
		}
	}
	if at != 0 {
		return fmt.Errorf("the engine was given %d ids before the first node: %w", at, errIdentity)
	}
	return nil
}

// errIdentity is a fault of this room.
var errIdentity = errors.New("token identity is broken")
