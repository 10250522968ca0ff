// Agents that are part of this program, by the name that the settings give.

package doors

import (
	"context"
	"fmt"

	"molt/agent"
	"molt/run/problem"
)

// OpenNamed is Open, with what makes the agent of agent.name found in the registry where the settings name no other.
func OpenNamed(ctx context.Context, c Config) (*Agent, error) {
	if c.Agent.IsPython() || c.Agent.IsProgram() {
		return Open(ctx, c)
	}
	kind, ok := agent.KindOf(c.Agent.Name)
	if !ok {
		return nil, &problem.Problem{Code: problem.Setting, Where: "agent.name", What: fmt.Sprintf("no agent %q in this program", c.Agent.Name), Fix: "`molt help settings` lists them"}
	}
	var err error
	if kind.IsChat() {
		c.Chat, err = kind.OpenChat(c.Agent.Own(kind))
	} else {
		c.Env, err = kind.Open(c.Agent.Own(kind))
	}
	if err != nil {
		return nil, &problem.Problem{Code: problem.Setting, Where: "agent." + c.Agent.Name, What: kind.Name + " refuses its settings", Why: err.Error(), Fix: "mend them", Err: err}
	}
	return Open(ctx, c)
}
