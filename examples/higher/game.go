package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"molt/agent"
	"molt/chat"
)

// settings are what a recipe may say about the game: agent.higher.most, agent.higher.tries, agent.higher.near.
type settings struct {
	Most  int     `yaml:"most" help:"the largest number that may be hidden" range:">=2"`
	Tries int     `yaml:"tries" help:"guesses in a rollout" range:">=1"`
	Near  float64 `yaml:"near" help:"what a last guess is paid that misses by one" range:"[0,1]"`
}

// game is one rollout: it hides the number that the row names, and says of every guess whether it is higher or lower.
type game struct {
	settings
	hidden int
}

// open is called once, before the run begins. What it returns makes the game of each rollout.
func open(s settings) (func() agent.Env, error) {
	if s.Near == 1 {
		return nil, errors.New("higher: to miss by one would be as good as a hit; choose less than 1 for near")
	}
	return func() agent.Env { return &game{settings: s} }, nil
}

// Check is asked about every row before the run begins: a row that cannot be played stops the run there.
func (g *game) Check(_ context.Context, task agent.Task) error {
	hidden, err := strconv.Atoi(task.Label)
	if err != nil || hidden < 1 || hidden > g.Most {
		return fmt.Errorf("higher: the label of task %s is %q; want a number from 1 to %d", task.ID, task.Label, g.Most)
	}
	return nil
}

// Reset begins the rollout. An error here is ours: the rollout is not graded, and the policy does not learn from it.
func (g *game) Reset(ctx context.Context, task agent.Task) (agent.Start, error) {
	if err := g.Check(ctx, task); err != nil {
		return agent.Start{}, err
	}
	g.hidden, _ = strconv.Atoi(task.Label)
	return agent.Start{Messages: task.Messages}, nil
}

var number = regexp.MustCompile(`\d+`)

// Step answers a guess. Whatever the policy says, nonsense included, is its own doing: it is graded, with a reward of 0.
func (g *game) Step(_ context.Context, a agent.Action) (agent.Result, error) {
	guess, err := strconv.Atoi(number.FindString(a.Message.Content))
	r := agent.Result{Info: map[string]float64{"guesses": float64(a.Turn + 1)}, Truncated: a.Turn+1 >= g.Tries}
	switch {
	case err != nil:
		r.Observation = say("Name a number.")
	case guess == g.hidden:
		r.Reward, r.Terminated = 1, true
	case guess < g.hidden:
		r.Observation = say("Higher.")
	default:
		r.Observation = say("Lower.")
	}
	if missed := guess - g.hidden; r.Truncated && err == nil && missed*missed == 1 {
		r.Reward = g.Near
	}
	return r, nil
}

// Close has nothing to give back. Whatever Reset opened would be closed here: Close is called exactly once.
func (g *game) Close() error { return nil }

func say(text string) []chat.Message { return []chat.Message{{Role: chat.User, Content: text}} }
