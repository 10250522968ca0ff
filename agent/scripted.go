// Rehearsal: an environment, and replies in place of a model. For tests of environments, and for demonstrations to imitate.

package agent

import (
	"context"
	"fmt"
	"slices"

	"molt/chat"
	"molt/chat/parse"
	"molt/traj"
)

// Rehearse plays one rollout of a new environment in which the policy says the given replies, one each turn, and returns it
// with all that was said. A script that is too short ends the rollout as Truncated.
func Rehearse(ctx context.Context, env func() Env, task Task, replies ...string) (*traj.Rollout, chat.Conversation) {
	policy := NewScripted(replies...)
	config := Defaults()
	config.Turns = max(1, len(replies))
	runner := EnvRunner{Config: config, New: env, Open: func(Job) (Policy, error) { return policy, nil }}
	rollout := runner.Run(ctx, Job{Task: task})
	return rollout, policy.Said()
}

// Scripted is a Policy that knows its replies beforehand. Its ids are the bytes of the texts, with ScriptedEnd behind every
// reply: rollouts of it are valid, but nothing can learn from them.
type Scripted struct {
	replies []string // still to be said
	said    chat.Conversation
	nodes   []traj.Node
}

// ScriptedEnd is the id that ends a reply, and the largest one that occurs.
const ScriptedEnd = 256

// NewScripted makes a policy that says the replies, one each turn, and then reports that its budget is used up.
func NewScripted(replies ...string) *Scripted { return &Scripted{replies: replies} }

// Begin implements Policy.
func (s *Scripted) Begin(messages []chat.Message, tools []chat.ToolSpec) error {
	s.said = chat.Conversation{Messages: slices.Clone(messages), Tools: tools}
	return s.said.Validate()
}

// Turn implements Policy.
func (s *Scripted) Turn(ctx context.Context, observation []chat.Message) (chat.Reply, error) {
	if ctx.Err() != nil {
		return chat.Reply{}, context.Cause(ctx)
	}
	if len(s.replies) == 0 {
		return chat.Reply{}, fmt.Errorf("the script has ended: %w", chat.ErrBudget)
	}
	if len(s.nodes) == 0 {
		observation = s.said.Messages
	} else {
		s.said.Messages = append(s.said.Messages, observation...)
	}
	reply := s.replies[0]
	s.replies = s.replies[1:]
	turn := parse.Hermes()(reply, "", s.said.Tools)
	s.said.Messages = append(s.said.Messages, turn.Message)
	s.nodes = append(s.nodes, scriptedNode(len(s.nodes)-1, observation, reply))
	return chat.Reply{Message: turn.Message, Text: reply, Finish: traj.FinishStop, Malformed: turn.Malformed}, nil
}

func scriptedNode(parent int, observation []chat.Message, reply string) traj.Node {
	n := traj.Node{Parent: parent, Temperature: 1, Finish: traj.FinishStop}
	for i := range observation {
		m := &observation[i]
		n.Observation = append(n.Observation, bytesAsIDs(string(m.Role)+"\n"+m.Content+"\n")...)
	}
	n.Sampled = append(bytesAsIDs(reply), ScriptedEnd)
	n.LogpGen = make([]float32, len(n.Sampled)) // a script is certain of what it says
	n.Version = make([]traj.Version, len(n.Sampled))
	return n
}

func bytesAsIDs(s string) []int32 {
	ids := make([]int32, len(s), len(s)+1)
	for i := range len(s) {
		ids[i] = int32(s[i])
	}
	return ids
}

// Nodes implements Policy.
func (s *Scripted) Nodes() []traj.Node { return s.nodes }

// Close implements Policy.
func (s *Scripted) Close() error { return nil }

// Said returns the conversation so far, the last reply included.
func (s *Scripted) Said() chat.Conversation { return s.said }
