// The quickstart's environment at hand: a question is asked, the tools answer, and the episode is graded.

package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"

	"molt/agent"
	"molt/chat"
	"molt/examples/shop"
	"molt/run/problem"
)

// Episode is a question to the shop, played to its end.
type Episode struct {
	Prompt   int64          `json:"prompt"`
	Sample   int            `json:"sample"`
	Messages []chat.Message `json:"messages"`
	Replies  []Said         `json:"replies"`
	Reward   float64        `json:"reward"`
	Total    int            `json:"total"` // the right answer
}

// Watcher is shown an episode as it goes on. Its fields may be nil.
type Watcher struct {
	Show func(text string) // a piece of a reply
	Tool func(text string) // what a tool answered; the reply before it has ended
}

// Play asks the shop's question of the model. Prices are drawn for the seed, the ordinal and the item.
func (s *Speaker) Play(ctx context.Context, ordinal int64, sample int, question string, w Watcher) (e Episode, err error) {
	e = Episode{Prompt: ordinal, Sample: sample}
	task, total, err := s.shopping(ordinal, question)
	if err != nil {
		return e, err
	}
	e.Total = total
	env := shop.New()
	defer env.Close()
	start, err := env.Reset(ctx, task)
	if err != nil {
		return e, shopProblem(err.Error())
	}
	e.Messages = start.Messages
	c, observation := s.Converse(ordinal, sample), start.Messages
	for turn := 0; ; turn++ {
		said, err := c.turn(ctx, observation, w.Show)
		if err != nil || said.Message == nil {
			return e, err
		}
		e.Replies, e.Messages = append(e.Replies, said), append(e.Messages, *said.Message)
		if ctx.Err() != nil {
			return e, nil
		}
		result, err := env.Step(ctx, agent.Action{Reply: c.last, Turn: turn})
		if err != nil {
			return e, fmt.Errorf("generate: playing the shop: %w", err)
		}
		e.Reward += result.Reward
		if result.Terminated || result.Truncated {
			return e, nil
		}
		observation = result.Observation
		e.Messages = append(e.Messages, observation...)
		w.tell(observation)
	}
}

func (w Watcher) tell(observation []chat.Message) {
	if w.Tool == nil {
		return
	}
	for _, m := range observation {
		w.Tool(m.Content)
	}
}

var wanted = regexp.MustCompile(`\b([0-9]{1,3}) ([a-z]+)`)

// shopping reads a question such as "What do 3 pens and 2 cups cost?" into the task of an episode.
func (s *Speaker) shopping(ordinal int64, question string) (agent.Task, int, error) {
	list := shop.List{}
	for _, found := range wanted.FindAllStringSubmatch(question, -1) {
		quantity, err := strconv.Atoi(found[1])
		if err != nil {
			return agent.Task{}, 0, fmt.Errorf("generate: reading a question: %w", err)
		}
		item := strings.TrimSuffix(found[2], "s")
		price := s.price(ordinal, item)
		list.Buy = append(list.Buy, shop.Entry{Quantity: quantity, Item: item, Price: price})
		list.Total += quantity * price
	}
	if len(list.Buy) == 0 {
		return agent.Task{}, 0, shopProblem("the question names no quantity and item")
	}
	label, err := json.Marshal(list)
	if err != nil {
		return agent.Task{}, 0, fmt.Errorf("generate: reading a question: %w", err)
	}
	return agent.Task{ID: fmt.Sprint(ordinal), Source: "shop", Messages: []chat.Message{{Role: chat.User, Content: question}}, Label: string(label)}, list.Total, nil
}

func shopProblem(what string) error {
	return &problem.Problem{Code: problem.Data, What: what, Fix: `ask as the shop is asked: "What do 3 pens and 2 cups cost?"`}
}

// price is 2 to 9, as in training.
func (s *Speaker) price(ordinal int64, item string) int {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %s", s.config.Seed, ordinal, item) // a hash never fails
	return 2 + int(h.Sum64()%8)
}
