// The task: what is for sale, what is asked, which pairs of items are held out, and how a prompt row says it.

package shop

import (
	"cmp"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"

	"molt/agent"
	"molt/chat"
)

var items = []string{
	"bag", "ball", "bell", "book", "boot", "bowl", "chair", "clock", "comb", "cup", "drum", "fork",
	"hat", "jar", "key", "kite", "lamp", "mug", "pen", "plate", "ring", "rope", "shoe", "spoon",
}

// Totals stay below 100: a small model has trouble to copy longer numbers.
const (
	maxQuantity        = 5
	minPrice, maxPrice = 2, 9
)

// Row is one line of a prompt file: {"id": …, "input": …, "label": {…}}.
type Row struct {
	ID    string `json:"id"`
	Input string `json:"input"`
	Label List   `json:"label"`
}

// List is what is to be bought and what it costs: everything that makes one episode differ from another.
type List struct {
	Buy   []Entry `json:"buy"`
	Total int     `json:"total"`
}

// Entry is one item of a list.
type Entry struct {
	Quantity int    `json:"quantity"` // 1 to 5
	Item     string `json:"item"`
	Price    int    `json:"price"` // of one; 2 to 9
}

// Split says which pairs of items a row may ask for. It is the same for every seed.
type Split string

const (
	Train   Split = "train"    // 221 pairs
	HeldOut Split = "held-out" // the other 55: never asked for in training, in neither order
)

// Tasks draws n rows. The first n of more rows are the same rows.
func Tasks(split Split, seed uint64, n int) []Row {
	pairs, p := trainPairs, forTrain
	switch split {
	case Train:
	case HeldOut:
		pairs, p = heldOutPairs, forHeldOut
	default:
		panic(fmt.Sprintf("shop: no split %q", split))
	}
	rows := make([]Row, n)
	for i := range rows {
		d := diceFor(seed, p, i)
		list := draw(&d, pairs)
		rows[i] = Row{ID: fmt.Sprintf("%s-%05d", split, i), Input: list.question(), Label: list}
	}
	return rows
}

func draw(d *dice, pairs [][2]string) List {
	pair := pairs[d.between(0, len(pairs)-1)]
	if d.percent(50) {
		pair[0], pair[1] = pair[1], pair[0]
	}
	var l List
	for _, item := range pair {
		e := Entry{Quantity: d.between(1, maxQuantity), Item: item, Price: d.between(minPrice, maxPrice)}
		l.Buy = append(l.Buy, e)
	}
	l.Total = l.total()
	return l
}

func (l *List) total() int {
	total := 0
	for _, e := range l.Buy {
		total += e.Quantity * e.Price
	}
	return total
}

// question is how a row asks.
func (l *List) question() string {
	parts := make([]string, len(l.Buy))
	for i, e := range l.Buy {
		parts[i] = fmt.Sprintf("%d %s", e.Quantity, e.Item)
		if e.Quantity > 1 {
			parts[i] += "s"
		}
	}
	return "What do " + strings.Join(parts, " and ") + " cost?"
}

// Task is the row as an environment is given it.
func (r *Row) Task() agent.Task {
	label, err := json.Marshal(r.Label)
	if err != nil {
		panic("shop: writing a label: " + err.Error()) // its strings are ours
	}
	return agent.Task{ID: r.ID, Source: "shop", Messages: []chat.Message{{Role: chat.User, Content: r.Input}}, Label: string(label)}
}

// parseLabel reads the label of a row.
func parseLabel(label string) (List, error) {
	var l List
	if err := json.Unmarshal([]byte(label), &l, json.RejectUnknownMembers(true)); err != nil {
		return l, err
	}
	if len(l.Buy) == 0 {
		return l, fmt.Errorf(`"buy" is empty; want at least one item`)
	}
	for i, e := range l.Buy {
		switch {
		case !slices.Contains(items, e.Item):
			return l, fmt.Errorf("buy[%d].item is %.40q; the shop sells %s", i, e.Item, strings.Join(items, ", "))
		case e.Quantity < 1 || e.Quantity > maxQuantity:
			return l, fmt.Errorf("buy[%d].quantity is %d; want 1 to %d", i, e.Quantity, maxQuantity)
		case e.Price < minPrice || e.Price > maxPrice:
			return l, fmt.Errorf("buy[%d].price is %d; want %d to %d", i, e.Price, minPrice, maxPrice)
		}
		for _, other := range l.Buy[:i] {
			if other.Item == e.Item {
				return l, fmt.Errorf("buy[%d].item %s is on the list twice; add the quantities", i, e.Item)
			}
		}
	}
	if want := l.total(); l.Total != want {
		return l, fmt.Errorf("total is %d; the items cost %d", l.Total, want)
	}
	return l, nil
}

var trainPairs, heldOutPairs = splitPairs()

const heldOut = 55 // of 276 unordered pairs

// splitPairs holds out the pairs that draw the smallest numbers.
func splitPairs() (train, held [][2]string) {
	type ticket struct {
		pair  [2]string
		drawn uint64
	}
	var tickets []ticket
	for i, a := range items {
		for _, b := range items[i+1:] {
			d := diceFor(0, forSplit, len(tickets))
			tickets = append(tickets, ticket{[2]string{a, b}, d.next()})
		}
	}
	slices.SortFunc(tickets, func(a, b ticket) int { return cmp.Compare(a.drawn, b.drawn) })
	for i, t := range tickets {
		if i < heldOut {
			held = append(held, t.pair)
		} else {
			train = append(train, t.pair)
		}
	}
	return train, held
}
