// Local templates: what stands between two turns depends on nothing before them. Then a bridge is rendered behind a short
// conversation in place of the whole history, and costs what is new. A template that counts calls, moves the tools to the
// last question or looks at earlier roles is not local, and its bridges are rendered in full.

package chat

import "slices"

// brief is a conversation that says nothing.
var brief = Conversation{Messages: []Message{{Role: User, Content: "x"}}}

// isLocal compares bridges behind long conversations with those behind the brief one, for every kind of turn and of what
// may follow it.
func (r *Renderer) isLocal() bool {
	if r.end == "" {
		return false
	}
	turns := []Message{
		{Role: Assistant, Content: "yes"},
		{Role: Assistant, Content: "yes", Reasoning: "hm"},
		{Role: Assistant, Reasoning: "hm", ToolCalls: probeCalls[:1]},
		{Role: Assistant, Content: "yes", ToolCalls: probeCalls},
	}
	result := Message{Role: Tool, Content: "1", ToolCallID: probeCalls[0].ID, Name: "f"}
	question := Message{Role: User, Content: "and?"}
	start := []Message{{Role: System, Content: "be kind"}, question}
	long := []Conversation{
		{Messages: slices.Concat(start, []Message{turns[2], result, turns[1], question}), Tools: []ToolSpec{NewToolSpec("f", "does", Object())}},
		{Messages: slices.Concat(start, []Message{turns[3], result, result})},
		{Messages: slices.Concat(start, turns[:1], []Message{question, turns[2], result})},
	}
	followers := [][]Message{nil, {question}, {result}, {result, result}, {result, question}}
	if seen := r.seenProbes(); seen != nil {
		long = append(long, Conversation{Messages: slices.Concat(seen[:1], turns[2:3], seen[1:])})
		followers = append(followers, seen[:1], seen[1:], seen)
	}
	some := false
	for _, turn := range turns {
		for _, next := range followers {
			want, okay := r.probe(brief, turn, next)
			some = some || okay
			for _, before := range long {
				if got, ok := r.probe(before, turn, next); got != want || ok != okay {
					return false
				}
			}
		}
	}
	return some
}

var probeCalls = []ToolCall{
	{ID: "abcdefghi", Name: "f", Arguments: Object(Member{"a", Int(1)})},
	{ID: "bcdefghij", Name: "g", Arguments: Object()},
}

func (r *Renderer) probe(before Conversation, turn Message, next []Message) (string, bool) {
	suffix, _, err := r.suffix(Conversation{slices.Concat(before.Messages, []Message{turn}, next), before.Tools}, len(before.Messages))
	return suffix, err == nil
}
