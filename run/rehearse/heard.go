// The policy with an ear at it: whatever kind the agent is, what it shows and what is said passes here.

package rehearse

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"molt/engine"
	"molt/run/models"
)

type heard struct {
	engine.Generator
	model *models.Model
	say   func(context.Context) (string, error) // nil where a model replies
	fail  context.CancelCauseFunc               // ends the rehearsal

	asking sync.Mutex // a person is asked one thing at a time

	mu      sync.Mutex
	out     io.Writer             // guarded by mu
	shown   map[string][]int32    // guarded by mu; what each session has seen and said
	replies map[engine.Key]string // guarded by mu; what is said next
}

// Generate implements engine.Generator.
func (h *heard) Generate(ctx context.Context, r engine.Request, emit func(engine.Token)) (engine.Reply, error) {
	if h.say != nil {
		h.asking.Lock()
		defer h.asking.Unlock()
	}
	h.tell("[shown]\n%s\n", strings.TrimRight(h.news(r), "\n"))
	if h.say != nil {
		text, err := h.say(ctx)
		if err != nil {
			h.fail(err)
			return engine.Reply{}, fmt.Errorf("%w: %w", engine.ErrFinal, err)
		}
		h.mu.Lock()
		h.replies[r.Key] = text
		h.mu.Unlock()
	}
	reply, err := h.Generator.Generate(ctx, r, emit)
	ids := make([]int32, len(reply.Tokens))
	for i, t := range reply.Tokens {
		ids[i] = t.ID
	}
	h.mu.Lock()
	h.shown[r.Session] = slices.Concat(r.Prompt, ids)
	h.mu.Unlock()
	h.tell("[said]\n%s\n", strings.TrimRight(h.model.Tok.Decode(ids), "\n"))
	return reply, err
}

// news is what a request shows that its session has not seen; all of it where the conversation is another.
func (h *heard) news(r engine.Request) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := h.shown[r.Session]
	if len(seen) == 0 || len(seen) > len(r.Prompt) || !slices.Equal(seen, r.Prompt[:len(seen)]) {
		seen = nil
	}
	return h.model.Tok.Decode(r.Prompt[len(seen):])
}

// reply is what Say said for a request.
func (h *heard) reply(k engine.Key) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.replies[k]
}

// Write implements io.Writer: what the agent prints is part of the story.
func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.out.Write(p)
}

func (h *heard) tell(format string, args ...any) { fmt.Fprintf(h, format, args...) }
