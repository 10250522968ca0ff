// Free text: anything, up to certain texts behind which something else follows. It is the automaton of Aho and Corasick
// (1975) over bytes and control tokens, so that a text is found wherever it begins and however it is cut into tokens.

package grammar

// FreeText says what may come, and where it ends.
type FreeText struct {
	Stops   []Stop
	First   []Stop  // texts that are stops at the beginning only, perhaps behind white space
	Ends    bool    // the reply may end at any place
	Without []int32 // control tokens that cannot come
	Plain   bool    // no control token can
}

// Stop is a text that ends free text as soon as it has come.
type Stop struct {
	Texts []string
	Then  Pattern // behind it; nil for a text that cannot come
	Back  bool    // and then the free text goes on; else what follows it
}

// Free is free text.
func Free(f FreeText) Pattern {
	return func(b *builder, next int32) (int32, error) {
		m := &free{builder: b, FreeText: f, states: []seek{{}}, next: next}
		for i, stop := range f.Stops {
			for _, text := range stop.Texts {
				m.plant(text, i)
			}
		}
		m.fail()
		return m.compile()
	}
}

// seek is how much of which stops has come.
type seek struct {
	next  map[int]int // by symbol: a byte, or controls plus the id of a control token
	back  int         // the longest end of it that begins a stop as well
	found int         // 1 more than the index of the stop that has come; 0 for none
	read  int32       // its node that reads
	entry int32       // where it is entered: read, or a fork of it and what follows
}

const controls = 1 << 8

// free compiles free text.
type free struct {
	*builder
	FreeText
	states []seek
	order  []int   // states, shorter ones first
	thens  []int32 // where what is behind each stop begins
	next   int32   // what follows the free text
}

// symbols are bytes and control tokens.
func symbols(text string) []int {
	var out []int
	for i := 0; i < len(text); i++ {
		if id, ok := controlAt(text[i:]); ok {
			out = append(out, controls+int(id))
			i += controlBytes - 1
			continue
		}
		out = append(out, int(text[i]))
	}
	return out
}

// plant adds a text of a stop.
func (m *free) plant(text string, stop int) {
	at := 0
	for _, s := range symbols(text) {
		to, ok := m.states[at].next[s]
		if !ok {
			to = len(m.states)
			m.states = append(m.states, seek{})
			if m.states[at].next == nil {
				m.states[at].next = map[int]int{}
			}
			m.states[at].next[s] = to
		}
		at = to
	}
	m.states[at].found = stop + 1
}

// fail finds the ends of each state that begin a stop, and the stops that have come with them.
func (m *free) fail() {
	m.order = []int{0}
	for i := 0; i < len(m.order); i++ {
		at := m.order[i]
		for s, to := range m.states[at].next {
			if at > 0 {
				m.states[to].back = m.step(m.states[at].back, s)
			}
			m.order = append(m.order, to)
		}
	}
	for _, at := range m.order {
		if s := &m.states[at]; s.found == 0 {
			s.found = m.states[s.back].found
		}
	}
}

// step is the state behind a symbol.
func (m *free) step(at, symbol int) int {
	for {
		if to, ok := m.states[at].next[symbol]; ok {
			return to
		}
		if at == 0 {
			return 0
		}
		at = m.states[at].back
	}
}

func (m *free) compile() (int32, error) {
	end := m.add(node{kind: leaves})
	for i := range m.states {
		s := &m.states[i]
		s.read = m.read()
		if s.entry = s.read; m.Ends {
			s.entry = m.fork(s.read, end)
		}
	}
	for _, stop := range m.Stops {
		to, err := m.behind(stop)
		if err != nil {
			return 0, err
		}
		m.thens = append(m.thens, to)
	}
	for i := range m.states {
		if m.states[i].found == 0 {
			edges := m.edges(i, nil)
			m.nodes[m.states[i].read].edges = edges
		}
	}
	if m.First == nil {
		return m.states[0].entry, m.full()
	}
	var texts []beginning
	for _, stop := range m.First {
		to, err := m.behind(stop)
		if err != nil {
			return 0, err
		}
		for _, t := range stop.Texts {
			texts = append(texts, beginning{symbols(t), to})
		}
	}
	return m.first(0, texts, end, true), m.full()
}

// beginning is what is left of a text of First, and the node behind it.
type beginning struct {
	left []int
	to   int32
}

// behind is where what follows a stop begins; -1 where nothing can.
func (m *free) behind(stop Stop) (int32, error) {
	next := m.next
	if stop.Back {
		next = m.states[0].entry
	}
	if stop.Then == nil {
		return -1, nil
	}
	return stop.Then(m.builder, next)
}

// first is a state in which the text has begun with beginnings of First. White space at its very start leads back to it.
func (m *free) first(state int, texts []beginning, end int32, start bool) int32 {
	read := m.read()
	entry := read
	if m.Ends {
		entry = m.fork(read, end)
	}
	over := map[int]int32{}
	if start {
		for _, c := range " \t\r\n" {
			over[int(c)] = entry
		}
	}
	for _, t := range texts {
		c := t.left[0]
		if _, done := over[c]; done {
			continue
		}
		if len(t.left) == 1 {
			over[c] = t.to
			continue
		}
		var rest []beginning
		for _, u := range texts {
			if u.left[0] == c && len(u.left) > 1 {
				rest = append(rest, beginning{u.left[1:], u.to})
			}
		}
		over[c] = m.first(m.step(state, c), rest, end, false)
	}
	edges := m.edges(state, over)
	m.nodes[read].edges = edges
	return entry
}

// target is the node of a state; -1 where a text has come that cannot.
func (m *free) target(state int) int32 {
	if found := m.states[state].found; found > 0 {
		return m.thens[found-1]
	}
	return m.states[state].entry
}

// edges lead from a state, some symbols elsewhere.
func (m *free) edges(state int, over map[int]int32) (edges []edge) {
	add := func(low, high byte, to int32) {
		if n := len(edges); n > 0 && edges[n-1].to == to && edges[n-1].high+1 == low {
			edges[n-1].high = high
		} else if to >= 0 {
			edges = append(edges, edge{low, high, to})
		}
	}
	for c := range controlByte {
		to, ok := over[c]
		if !ok {
			to = m.target(m.step(state, c))
		}
		add(byte(c), byte(c), to)
	}
	if m.Plain {
		return edges
	}
	special := map[int32]int32{}
	for i := range m.states {
		for s := range m.states[i].next {
			if s >= controls {
				special[int32(s-controls)] = m.target(m.step(state, s))
			}
		}
	}
	for s, to := range over {
		if s >= controls {
			special[int32(s-controls)] = to
		}
	}
	for _, id := range m.Without {
		special[id] = -1
	}
	return append(edges, edge{controlByte, controlByte, m.control(special, controlBytes-2, m.target(0))})
}

// control reads the code of a control token, of which so many bytes are to come behind the next one: each goes to its own
// node, and all that are not special to otherwise. -1 goes nowhere.
func (m *free) control(special map[int32]int32, behind int, otherwise int32) int32 {
	parts := map[byte]map[int32]int32{}
	for id, to := range special {
		b := byte(id >> (8 * behind))
		if parts[b] == nil {
			parts[b] = map[int32]int32{}
		}
		parts[b][id] = to
	}
	plain := otherwise
	if behind > 0 {
		for range behind {
			plain = m.read(edge{0, 0xFF, plain})
		}
	}
	var edges []edge
	from := 0
	upTo := func(end int) { // what is not special before a byte
		if from < end && plain >= 0 {
			edges = append(edges, edge{byte(from), byte(end - 1), plain})
		}
		from = end + 1
	}
	for b := range 256 {
		part, ok := parts[byte(b)]
		if !ok {
			continue
		}
		upTo(b)
		to := int32(-1)
		if behind > 0 {
			to = m.control(part, behind-1, otherwise)
		} else {
			for _, only := range part {
				to = only
			}
		}
		if to >= 0 {
			edges = append(edges, edge{byte(b), byte(b), to})
		}
	}
	upTo(256)
	return m.read(edges...)
}
