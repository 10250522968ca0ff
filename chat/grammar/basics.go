// What every grammar begins with: the rules of JSON itself. They stand at the same nodes in each, so that what a vocabulary
// makes of them is found once.
//
// Texts are compact, with at most one space behind a colon and a comma: a reply cannot fill its budget with whitespace.
// Numbers have at most 18 digits, 17 behind the point, and 2 in the exponent, so all of them are finite in 64 bits and
// integers are exact.

package grammar

// The rules of every grammar.
const (
	stringRule int32 = iota
	integerRule
	numberRule
	booleanRule
	nullRule
	anyRule
	objectRule // any object
	arrayRule  // any array
	tameString // the same without a <, for values that stand between tags: JSON can spell it otherwise
	tameAny
	tameObject
	tameArray
	basicRules
)

// tamed are the tame forms of rules that have one.
var tamed = map[int32]int32{stringRule: tameString, anyRule: tameAny, objectRule: tameObject, arrayRule: tameArray}

// basics is the grammar of any object.
var basics = newBasics()

func newBasics() *Grammar {
	g := &Grammar{rules: make([]rule, basicRules), root: objectRule}
	leave := g.add(node{kind: leaves})
	for i := range g.rules {
		g.rules[i].height = 1
	}
	g.rules[stringRule].start = g.stringStart(leave, edge{'#', '[', 0})
	g.rules[tameString].start = g.stringStart(leave, edge{'#', '<' - 1, 0}, edge{'<' + 1, '[', 0})
	g.rules[integerRule].start = g.number(leave, leave)
	g.rules[numberRule].start = g.number(leave, g.fraction(leave))
	g.rules[booleanRule].start = g.fork(g.text("true", leave), g.text("false", leave))
	g.rules[nullRule].start = g.text("null", leave)
	g.anything(stringRule, anyRule, objectRule, arrayRule, leave)
	g.anything(tameString, tameAny, tameObject, tameArray, leave)
	return g
}

// anything makes the rules of values that hold others.
func (g *Grammar) anything(text, any, object, array, leave int32) {
	g.rules[object].start = g.text("{", g.members(text, any, g.text("}", leave)))
	g.rules[array].start = g.text("[", g.fork(g.text("]", leave), g.items(any, leave)))
	start := g.fork()
	for _, r := range []int32{text, numberRule, booleanRule, nullRule, object, array} { // every integer is a number
		g.nodes[start].also = append(g.nodes[start].also, g.rules[r].start)
	}
	g.rules[any].start = start
}

// Object is the grammar of every JSON object.
func Object() *Grammar { return basics }

// stringStart reads a string: UTF-8 (RFC 3629, section 4), with escapes that are no halves of surrogate pairs. most are what it
// may hold between # and [.
func (g *Grammar) stringStart(leave int32, most ...edge) int32 {
	body := g.read()
	escape, c1 := g.read(), g.read(edge{0x80, 0xBF, body})
	c2 := g.read(edge{0x80, 0xBF, c1})
	c3 := g.read(edge{0x80, 0xBF, c2})
	edges := []edge{{' ', '!', body}, {'"', '"', leave}}
	for _, e := range most {
		edges = append(edges, edge{e.low, e.high, body})
	}
	edges = append(edges, []edge{
		{'\\', '\\', escape}, {']', 0x7F, body}, {0xC2, 0xDF, c1},
		{0xE0, 0xE0, g.read(edge{0xA0, 0xBF, c1})}, {0xE1, 0xEC, c2}, {0xED, 0xED, g.read(edge{0x80, 0x9F, c1})}, {0xEE, 0xEF, c2},
		{0xF0, 0xF0, g.read(edge{0x90, 0xBF, c2})}, {0xF1, 0xF3, c3}, {0xF4, 0xF4, g.read(edge{0x80, 0x8F, c2})},
	}...)
	g.nodes[body].edges = edges
	hex := func(to int32) []edge { return []edge{{'0', '9', to}, {'A', 'F', to}, {'a', 'f', to}} }
	h1 := g.read(hex(body)...)
	h2 := g.read(hex(h1)...)
	h3 := g.read(hex(h2)...)
	low := g.read(edge{'0', '7', h2})
	h4 := g.read(edge{'0', '9', h3}, edge{'A', 'C', h3}, edge{'D', 'D', low}, edge{'E', 'F', h3}, edge{'a', 'c', h3}, edge{'d', 'd', low}, edge{'e', 'f', h3})
	for _, c := range []byte(`"/\bfnrt`) {
		g.nodes[escape].edges = append(g.nodes[escape].edges, edge{c, c, body})
	}
	g.nodes[escape].edges = append(g.nodes[escape].edges, edge{'u', 'u', h4})
	return g.text(`"`, body)
}

// number reads -?(0|[1-9][0-9]{0,17}), then goes to leave or to what follows the digits.
func (g *Grammar) number(leave, behind int32) int32 {
	end := leave
	if behind != leave {
		end = g.fork(leave, behind)
	}
	digits := g.digits(17, end)
	first := []edge{{'0', '0', end}, {'1', '9', digits}}
	return g.read(edge{'-', '-', g.read(first...)}, first[0], first[1])
}

// fraction reads (\.[0-9]{1,17})?([eE][+-]?[0-9]{1,2})? of which at least one is there.
func (g *Grammar) fraction(leave int32) int32 {
	digit := g.read(edge{'0', '9', g.digits(1, leave)})
	sign := g.read(edge{'+', '+', digit}, edge{'-', '-', digit}, edge{'0', '9', g.nodes[digit].edges[0].to})
	exponent := g.read(edge{'E', 'E', sign}, edge{'e', 'e', sign})
	point := g.text(".", g.read(edge{'0', '9', g.digits(16, g.fork(leave, exponent))}))
	return g.fork(point, exponent)
}

// digits reads up to n digits.
func (g *Grammar) digits(n int, next int32) int32 {
	at := next
	for range n {
		at = g.fork(next, g.read(edge{'0', '9', at}))
	}
	return at
}

// members reads members with any names, and goes to closing.
func (g *Grammar) members(name, value, closing int32) int32 {
	more := g.fork()
	member := g.call(name, g.spaced(":", g.call(value, more)))
	g.link(more, closing, g.spaced(",", member))
	return g.fork(closing, g.guard(value, member))
}

// items reads one value and any number of further ones, and the closing bracket.
func (g *Grammar) items(item, leave int32) int32 {
	more := g.fork()
	first := g.call(item, more)
	g.link(more, g.text("]", leave), g.spaced(",", first))
	return first
}
