// Who asks, as far as headers tell.

package serve

import (
	"net/http"
	"strconv"

	"molt/chat"
	"molt/gateway/capture"
	"molt/gateway/forest"
)

// caller reads the names that Claude Code, Codex and opencode give to their agents, and our own judges to themselves. They say nothing about the conversation.
func caller(r *http.Request) capture.Caller {
	var c capture.Caller
	get := func(name string) string {
		v := r.Header.Get(name)
		return v[:min(len(v), 200)]
	}
	if id := get("x-claude-code-agent-id"); id != "" {
		c.Agent = forest.Agent{ID: id, Parent: get("x-claude-code-parent-agent-id")}
	}
	if kind, parent := get("x-openai-subagent"), get("x-codex-parent-thread-id"); kind != "" || parent != "" {
		c.Agent = forest.Agent{ID: get("thread-id"), Parent: parent, Kind: kind}
	}
	if parent := get("x-parent-session-id"); parent != "" {
		c.Agent = forest.Agent{ID: get("x-session-id"), Parent: parent}
	}
	if data := r.Header.Get("x-codex-turn-metadata"); data != "" && len(data) < 1<<16 {
		if v, err := chat.ParseValue([]byte(data)); err == nil {
			if kind, _ := v.Get("request_kind"); kind.Text() != "" && kind.Text() != "turn" && c.Agent.Kind == "" {
				c.Agent.Kind = kind.Text()[:min(len(kind.Text()), 200)]
			}
		}
	}
	if get("x-molt-kind") == forest.Judge {
		c.Agent = forest.Agent{ID: forest.Judge, Kind: forest.Judge}
	}
	c.Agent.Window = get("x-codex-window-id")
	n, err := strconv.Atoi(r.Header.Get("x-stainless-retry-count"))
	c.Retry = err == nil && n > 0
	return c
}
