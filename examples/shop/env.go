// The environment: two tools, an answer, six turns.

package shop

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"

	"molt/agent"
	"molt/chat"
	"molt/traj"
)

// Turns is how many replies an episode has at most. Four are enough, and six when both items are first looked up wrongly.
const Turns = 6

// Env is one episode. The policy is told about the tools by demonstrations only, which keeps episodes short:
//
//	lookup {"item": "pen"}             the price of one pen
//	calc   {"expression": "3*4+2*7"}   the value; digits, +, - and * in at most 24 characters
//
// The reward is 1 for the one right <answer>N</answer> and 0 for everything else. A mistake with a tool is answered with
// "error: …", and the episode goes on; a reply that was cut off ends it.
type Env struct {
	list   List
	seed   uint64 // of the prices that are not on the list
	errors int    // of calls so far
	calcs  int
}

// New makes an environment for one episode.
func New() agent.Env { return &Env{} }

// Check implements agent.Checker.
func (e *Env) Check(_ context.Context, task agent.Task) error {
	if _, err := parseLabel(task.Label); err != nil {
		return fmt.Errorf("shop: label of task %s: %w", task.ID, err)
	}
	return nil
}

// Reset implements agent.Env. The label says everything; the messages are shown as they are.
func (e *Env) Reset(_ context.Context, task agent.Task) (agent.Start, error) {
	list, err := parseLabel(task.Label)
	if err != nil {
		return agent.Start{}, fmt.Errorf("shop: label of task %s: %w", task.ID, err)
	}
	h := fnv.New64a()
	io.WriteString(h, task.Label) // a hash never fails
	*e = Env{list: list, seed: h.Sum64()}
	return agent.Start{Messages: task.Messages}, nil
}

// Step implements agent.Env.
func (e *Env) Step(_ context.Context, a agent.Action) (agent.Result, error) {
	var r agent.Result
	answer, answered := parseAnswer(a.Message.Content)
	switch {
	case a.Finish == traj.FinishLength:
		r.Truncated = true
	case answered:
		r.Terminated = true
		if answer == strconv.Itoa(e.list.Total) {
			r.Reward = 1
		}
	default:
		r.Observation = e.observe(&a.Reply)
		r.Truncated = a.Turn+1 >= Turns
	}
	r.Info = map[string]float64{"calls_to_calc": float64(e.calcs), "errors": float64(e.errors)}
	return r, nil
}

// Close implements agent.Env.
func (e *Env) Close() error { return nil }

// parseAnswer finds what the policy commits itself to. Who gives several answers gives none that is right.
func parseAnswer(content string) (answer string, found bool) {
	const open, end = "<answer>", "</answer>"
	_, rest, _ := strings.Cut(content, open)
	answer, rest, found = strings.Cut(rest, end)
	if strings.Contains(answer, open) || strings.Contains(rest, open) {
		return "", found
	}
	return answer, found
}

// observe answers every call of the reply, in order.
func (e *Env) observe(reply *chat.Reply) []chat.Message {
	var answers []chat.Message
	answer := func(text, call string) {
		if strings.HasPrefix(text, "error") {
			e.errors++
		}
		answers = append(answers, chat.Message{Role: chat.Tool, Content: text, ToolCallID: call})
	}
	for _, call := range reply.Message.ToolCalls {
		answer(e.call(call), call.ID)
	}
	if reply.Malformed > 0 {
		answer("error: bad call", "")
	}
	if len(answers) == 0 {
		answer("error: no call and no answer", "")
	}
	return answers
}

func (e *Env) call(c chat.ToolCall) string {
	switch c.Name {
	case "lookup":
		item, _ := c.Arguments.Get("item")
		price, ok := e.price(item.Text())
		if !ok {
			return "error: unknown item"
		}
		return strconv.Itoa(price)
	case "calc":
		e.calcs++
		expression, _ := c.Arguments.Get("expression")
		value, err := calc(expression.Text())
		if err != nil {
			return "error: " + err.Error()
		}
		return strconv.FormatInt(value, 10)
	}
	return "error: unknown tool"
}

// price is what one costs in this episode.
func (e *Env) price(item string) (int, bool) {
	for _, entry := range e.list.Buy {
		if entry.Item == item {
			return entry.Price, true
		}
	}
	i := slices.Index(items, item)
	if i < 0 {
		return 0, false
	}
	d := diceFor(e.seed, forPrice, i)
	return d.between(minPrice, maxPrice), true
}
