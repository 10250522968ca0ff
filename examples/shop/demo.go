// The demonstrator: it knows what to do and is sloppy about it. Imitating it teaches how to use the tools, and its slips.

package shop

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"molt/agent"
	"molt/chat"
)

// How often each slip happens, in percent. They are drawn independently. Every number in a slip is still a true copy of one
// that was seen: demonstrations with wrong copies teach a small model nothing.
const (
	slipShortcut = 65 // answers with the last price seen instead of calculating
	slipSkip     = 5  // does not look the second price up and takes the first for both
	slipOperator = 10 // uses a wrong operator
	slipDrop     = 10 // forgets a quantity or an item
	slipPlural   = 10 // asks for "pens" first, and recovers; for each lookup
)

// Demo is the i-th demonstration for a seed: an episode on a training pair as the environment really answers it. About 27
// of 100 earn the reward.
func Demo(seed uint64, i int) chat.Conversation {
	said, _ := demonstrate(seed, i)
	return said
}

func demonstrate(seed uint64, i int) (chat.Conversation, float64) {
	d := diceFor(seed, forDemo, i)
	list := draw(&d, trainPairs)
	row := Row{ID: fmt.Sprintf("demo-%d", i), Input: list.question(), Label: list}
	rollout, said := agent.Rehearse(context.Background(), New, row.Task(), replies(&list, drawSlips(&d))...)
	return said, rollout.Reward
}

// slips is what goes wrong in one demonstration.
type slips struct {
	shortcut, skip bool
	operator       int // 0: right; 1: + inside the first product; 2: + everywhere; 3: * everywhere
	drop           int // 0: nothing; 1, 2: a quantity; 3, 4: an item
	plural         [2]bool
}

func drawSlips(d *dice) slips {
	s := slips{shortcut: d.percent(slipShortcut), skip: d.percent(slipSkip)}
	if kind := d.between(1, 3); d.percent(slipOperator) {
		s.operator = kind
	}
	if kind := d.between(1, 4); d.percent(slipDrop) {
		s.drop = kind
	}
	s.plural = [2]bool{d.percent(slipPlural), d.percent(slipPlural)}
	return s
}

// replies is what the demonstrator says, turn by turn. The zero slips earn the reward.
func replies(list *List, s slips) []string {
	var say []string
	prices := [2]int{list.Buy[0].Price, list.Buy[1].Price}
	for i, e := range list.Buy {
		if i == 1 && s.skip {
			prices[1] = prices[0]
			break
		}
		if s.plural[i] {
			say = append(say, toolCall("lookup", "item", e.Item+"s"))
		}
		say = append(say, toolCall("lookup", "item", e.Item))
	}
	if s.shortcut {
		return append(say, answer(strconv.Itoa(prices[1])))
	}
	sum := expression(list, prices, s)
	value, err := calc(sum)
	if err != nil {
		panic(fmt.Sprintf("shop: demonstrating %s: %v", sum, err))
	}
	return append(say, toolCall("calc", "expression", sum), answer(strconv.FormatInt(value, 10)))
}

func expression(list *List, prices [2]int, s slips) string {
	inner, outer := [2]string{"*", "*"}, "+"
	switch s.operator {
	case 1:
		inner[0] = "+"
	case 2:
		inner = [2]string{"+", "+"}
	case 3:
		outer = "*"
	}
	var terms []string
	for i, e := range list.Buy {
		switch price := strconv.Itoa(prices[i]); s.drop {
		case 1 + i:
			terms = append(terms, price)
		case 3 + i:
		default:
			terms = append(terms, strconv.Itoa(e.Quantity)+inner[i]+price)
		}
	}
	return strings.Join(terms, outer)
}

// toolCall is a call in the form of the chat template.
func toolCall(tool, argument, value string) string {
	return fmt.Sprintf("<tool_call>\n{\"name\": %q, \"arguments\": {%q: %q}}\n</tool_call>", tool, argument, value)
}

func answer(text string) string { return "<answer>" + text + "</answer>" }
