package agent_test

import (
	"context"
	"fmt"
	"strings"

	"molt/agent"
	"molt/chat"
)

// guess is an environment: the policy guesses a word that it is given a hint about.
type guess struct{ word string }

func (g *guess) Reset(_ context.Context, task agent.Task) (agent.Start, error) {
	if task.Label == "" {
		return agent.Start{}, fmt.Errorf("guess: task %s has no label", task.ID) // our failure: not graded
	}
	g.word = task.Label
	return agent.Start{Messages: task.Messages}, nil
}

func (g *guess) Step(_ context.Context, a agent.Action) (agent.Result, error) {
	if strings.Contains(a.Message.Content, g.word) {
		return agent.Result{Reward: 1, Terminated: true}, nil
	}
	hint := fmt.Sprintf("No. It begins with %q.", g.word[:a.Turn+1])
	return agent.Result{Observation: []chat.Message{{Role: chat.User, Content: hint}}, Truncated: a.Turn == 2}, nil
}

func (g *guess) Close() error { return nil }

func ExampleEnv() {
	task := agent.Task{ID: "1", Messages: []chat.Message{{Role: chat.User, Content: "Name an animal."}}, Label: "hare"}
	rollout, said := agent.Rehearse(context.Background(), func() agent.Env { return &guess{} }, task, "A cat?", "Then a hare.")
	for _, m := range said.Messages {
		fmt.Printf("%s: %s\n", m.Role, m.Content)
	}
	fmt.Println(rollout.Outcome, rollout.Reward)
	// Output:
	// user: Name an animal.
	// assistant: A cat?
	// user: No. It begins with "h".
	// assistant: Then a hare.
	// completed 1
}
