// The border between a turn and what follows it: the control token that ends the turn.
//
// Most templates have one such token. Some end a turn with calls by another one, some write another one once the turn is
// history (gpt-oss: <|return|> becomes <|end|>), and some have none: the token of the next role ends the turn (GLM).

package chat

import (
	"fmt"
	"slices"
	"strings"
)

// findEnd looks for the token that ends a plain answer: behind its words when nothing follows, or else when a question does.
func (r *Renderer) findEnd(tail, probe string) {
	if r.end = r.delimiter(tail); r.end == "" && strings.TrimSpace(tail) == "" {
		text, _ := r.template.Render(Conversation{Messages: []Message{{Role: User, Content: "x"}, {Role: Assistant, Content: probe}, {Role: User, Content: "x"}}}, true)
		_, tail, _ = strings.Cut(text, probe)
		r.end = r.delimiter(tail)
		r.lent = r.end != ""
	}
	if r.end != "" {
		r.endID, _ = r.tok.ID(r.end)
	}
}

// delimiter is the delimiting control string that text begins with, "" when there is none.
func (r *Renderer) delimiter(text string) string {
	for _, c := range r.controls.byFirst[firstByte(text)] {
		if c.special && strings.HasPrefix(text, c.text) {
			return c.text
		}
	}
	return ""
}

// ending is where a turn ends in what stands behind its words while nothing follows it; -1 when nothing ends it.
func (r *Renderer) ending(tail string) int {
	if at := strings.LastIndex(tail, r.end); at >= 0 && !r.lent {
		return at
	}
	trimmed := strings.TrimRight(tail, " \n")
	if r.lent {
		return len(trimmed)
	}
	for at := len(trimmed) - 1; at >= 0; at-- {
		if d := r.delimiter(trimmed[at:]); d != "" && at+len(d) == len(trimmed) {
			return at
		}
	}
	return -1
}

// border cuts what follows a turn off what stands behind its words: short while nothing follows, long when it does.
func (r *Renderer) border(short, long string) (string, error) {
	at := r.ending(short)
	switch {
	case at < 0:
		return "", fmt.Errorf("a turn does not end with %s: %w", r.end, ErrNotLocal)
	case !strings.HasPrefix(long, short[:at]) || r.delimiter(long[at:]) == "":
		return "", fmt.Errorf("the end of a turn changes with what follows: %w", ErrNotLocal)
	}
	return long[at:], nil
}

// shown is what of a bridge is still to be shown behind the last sampled id: its first token ends the turn, and is not shown
// where an end was sampled.
func (r *Renderer) shown(bridge []int32, last int32) []int32 {
	if last == bridge[0] || last == r.endID && !r.lent {
		return bridge[1:]
	}
	return bridge
}

// suffix renders the closing of the turn at index at, and everything behind it. A mark stands for what the turn says; its
// calls stay, as some templates need them to render the results. Where a template shows only the calls of such a turn, the
// mark stands for the arguments of the last.
func (r *Renderer) suffix(c Conversation, at int) (suffix string, rewrites bool, err error) {
	turn := &c.Messages[at]
	content := turn.Content
	turn.Content = string(mark)
	suffix, rewrites, err = r.behindMark(c, at)
	if n := len(turn.ToolCalls); err == errUnsaid && n > 0 {
		turn.Content = content
		turn.ToolCalls = slices.Clone(turn.ToolCalls)
		turn.ToolCalls[n-1].Arguments = Object(Member{"x", String(string(mark))})
		suffix, rewrites, err = r.behindMark(c, at)
	}
	return suffix, rewrites, err
}

var errUnsaid = fmt.Errorf("what the assistant says is not rendered once: %w", ErrNotLocal)

func (r *Renderer) behindMark(c Conversation, at int) (suffix string, rewrites bool, err error) {
	short, err := r.template.Render(Conversation{c.Messages[:at+1], c.Tools}, false)
	if err != nil {
		return "", false, err
	}
	long, err := r.template.Render(c, true)
	if err != nil {
		return "", false, err
	}
	before, shortTail, ok := strings.Cut(short, string(mark))
	again, longTail, okToo := strings.Cut(long, string(mark))
	if !ok || !okToo || strings.ContainsRune(shortTail, mark) || strings.ContainsRune(longTail, mark) {
		return "", false, errUnsaid
	}
	suffix, err = r.border(shortTail, longTail)
	return suffix, before != again, err
}
