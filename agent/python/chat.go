// The second door: the file has a ChatAgent, which owns its loop and talks to the rollout's address.

package python

import (
	"context"
	"fmt"
	"time"

	"molt/agent"
	"molt/chat"
)

// closeLimit is how long an agent's close may take.
const closeLimit = 5 * time.Second

// ChatAgent is a new rollout's agent.
func (p *Pool) ChatAgent() agent.ChatAgent { return chatAgent{p} }

type chatAgent struct{ pool *Pool }

// Run implements agent.ChatAgent.
func (a chatAgent) Run(ctx context.Context, c agent.ChatContext) (agent.Result, error) {
	m, err := a.pool.member(ctx)
	if err != nil {
		return agent.Result{}, fmt.Errorf("%w: %w", chat.ErrInfrastructure, err)
	}
	defer a.pool.release(m)
	var said outcome
	if err := m.call(ctx, "run", request{Context: contextOf(c)}, &said); err != nil {
		return agent.Result{}, a.pool.typed(m, err)
	}
	return said.result()
}

// contextOf is ChatContext as molt.agents spells it.
func contextOf(c agent.ChatContext) map[string]any {
	var tools any // None without any
	if len(c.Task.Tools) > 0 {
		tools = agent.WireTools(c.Task.Tools)
	}
	return map[string]any{
		"messages": agent.Wire(c.Task.Messages), "tools": tools, "prompt": c.Task.Prompt(), "label": c.Task.Label, "images": urls(chat.Images(c.Task.Messages...)),
		"base_url": c.Address.OpenAI(), "session_url": c.Address.URL, "model_name": c.Address.Model, "api_key": c.Address.Key,
		"session_id": c.Address.Session, "sampling_params": settings(c.Sampling), "max_length": c.MaxLength,
	}
}
