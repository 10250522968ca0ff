// The quickstart's questions at hand: a question that a person types becomes a task of the shop.

package generate

import (
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

// shopName is the shop's in the registry of environments.
const shopName = "shop"

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
