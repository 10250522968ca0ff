package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"molt/agent"
	"molt/agent/answer"
	"molt/chat"
	"molt/traj"
)

// settings are agent.gsm8k.format and agent.gsm8k.turns.
type settings struct {
	Format float64 `yaml:"format" help:"what a wrong answer is paid that stands where it should" range:"[0,1]"`
	Turns  int     `yaml:"turns" help:"replies in a rollout, the answer included" range:">=1"`
}

// world is one rollout: a question, a calculator, one answer.
type world struct {
	settings
	label string
	calls float64
}

func open(s settings) (func() agent.Env, error) {
	if s.Format == 1 {
		return nil, errors.New("gsm8k: a wrong answer would be as good as a right one; choose less than 1 for format")
	}
	return func() agent.Env { return &world{settings: s} }, nil
}

// rules and an example are in the text of the prompt, not in the tools of the conversation: the chat templates of small
// models show none.
var rules = []chat.Message{
	{Role: chat.System, Content: `Solve the problem. For arithmetic, write one expression between <calc> and </calc>, and you will be told its value. At the end, write a line "#### " with the number that is the answer.`},
	{Role: chat.User, Content: "Tom buys 3 boxes of 12 pens and loses 4 of the pens. How many pens are left?"},
	{Role: chat.Assistant, Content: "Tom buys 3*12 pens and loses 4 of them.\n<calc>3*12-4</calc>"},
	{Role: chat.User, Content: "32"},
	{Role: chat.Assistant, Content: "Tom has 32 pens left.\n#### 32"},
}

// Check implements agent.Checker.
func (w *world) Check(_ context.Context, task agent.Task) error {
	if !strings.Contains(task.Label, "####") {
		return fmt.Errorf(`gsm8k: the label of task %s has no line "#### " with the answer`, task.ID)
	}
	return nil
}

// Reset implements agent.Env.
func (w *world) Reset(ctx context.Context, task agent.Task) (agent.Start, error) {
	if err := w.Check(ctx, task); err != nil {
		return agent.Start{}, err
	}
	w.label = task.Label
	return agent.Start{Messages: slices.Concat(rules, task.Messages)}, nil
}

var (
	asked    = regexp.MustCompile(`(?s)<calc>(.*?)</calc>\s*$`)
	answered = regexp.MustCompile(`(?m)^####\s*\$?-?[\d,.]*\d`)
)

// Step implements agent.Env: a message that ends with a call is answered, any other is the answer.
func (w *world) Step(_ context.Context, a agent.Action) (agent.Result, error) {
	said := a.Message.Content
	if call := asked.FindStringSubmatch(said); call != nil && a.Finish != traj.FinishLength {
		w.calls++
		text, err := calculate(call[1])
		if err != nil {
			text = "error: " + err.Error()
		}
		return agent.Result{
			Observation: []chat.Message{{Role: chat.User, Content: text}},
			Truncated:   a.Turn+1 >= w.Turns, Info: w.info(0, 0), Score: new(float64),
		}, nil
	}
	return w.grade(said, a.Finish), nil
}

// grade pays 1 for the right number after ####, Format for any other there. Evaluation counts right answers alone.
func (w *world) grade(said string, finish traj.Finish) agent.Result {
	var right, marked float64
	if answered.MatchString(said) {
		marked = 1
		if answer.Correct(said, w.label) {
			right = 1
		}
	}
	cut := finish == traj.FinishLength
	return agent.Result{Reward: max(right, w.Format*marked), Score: &right, Terminated: !cut, Truncated: cut, Info: w.info(marked, right)}
}

func (w *world) info(marked, right float64) map[string]float64 {
	return map[string]float64{"calls": w.calls, "marked": marked, "right": right}
}

// Close implements agent.Env.
func (w *world) Close() error { return nil }
