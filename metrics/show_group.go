// A group as plain text: its rollouts side by side, aligned where each first differs from the best one.

package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// FirstDifference is the index of the first token in which two rollouts differ; the length of the shorter one when it is
// the beginning of the other.
func FirstDifference(a, b *Tokens) int {
	n := min(len(a.ID), len(b.ID))
	for i := range n {
		if a.ID[i] != b.ID[i] {
			return i
		}
	}
	return n
}

// Best is the graded rollout with the highest reward, the first of them on a tie; the first rollout when none is graded.
func Best(group []*RolloutKept) *RolloutKept {
	best := group[0]
	for _, r := range group[1:] {
		if r.Graded && (!best.Graded || r.Reward > best.Reward) {
			best = r
		}
	}
	return best
}

// Comparison shows the kept rollouts of one group, which must not be empty.
func Comparison(group []*RolloutKept, width int) string {
	s := sheet{width: width}
	best := Best(group)
	group = slices.Clone(group)
	slices.SortStableFunc(group, func(a, b *RolloutKept) int {
		return cmp.Or(cmp.Compare(reward(b), reward(a)), cmp.Compare(a.Sample, b.Sample))
	})
	s.line("step %d  group %d  prompt %s of %s  %d of %d rollouts kept", best.Step, best.Group, Clean(best.Prompt),
		Clean(best.Source), len(group), best.Samples)
	if best.Filtered != "" {
		s.para("filtered: ", Clean(best.Filtered))
	}
	rewards, advantages := scale(group, reward), scale(group, advantage)
	s.line("%6s %-17s %-19s %-14s %6s  %s", "sample", "reward", "advantage", "outcome", "tokens", fmt.Sprintf("first differs from sample %d", best.Sample))
	for _, r := range group {
		s.line("%6d %s %s %s %6d  %s", r.Sample, pad(fmt.Sprintf("%7s %s", r.rewardText(), gauge(reward(r), rewards, 8)), 17),
			pad(fmt.Sprintf("%8s %s", r.advantageText(), gauge(advantage(r), advantages, 8)), 19), pad(Clean(r.Outcome), 14),
			r.Tokens.Len(), differs(best, r))
	}
	s.line("")
	half := max(10, (s.width-12)/2)
	for _, r := range group {
		if r == best || !slices.Equal(r.Tokens.ID, best.Tokens.ID) {
			s.fork(r, splits(group, best, r), half)
		}
	}
	return s.String()
}

func reward(r *RolloutKept) float64 {
	if !r.Graded {
		return 0
	}
	return r.Reward
}

func advantage(r *RolloutKept) float64 {
	if r.Advantage == nil {
		return 0
	}
	return *r.Advantage
}

func scale(group []*RolloutKept, of func(*RolloutKept) float64) float64 {
	most := 0.0
	for _, r := range group {
		if v := math.Abs(of(r)); v > most && !math.IsInf(v, 0) {
			most = v
		}
	}
	return most
}

// gauge is a bar of at most width cells; a negative number has hollow ones.
func gauge(v, most float64, width int) string {
	if most == 0 || math.IsNaN(v) {
		return ""
	}
	cell := "#"
	if v < 0 {
		cell = "-"
	}
	return strings.Repeat(cell, int(math.Round(min(1, math.Abs(v)/most)*float64(width))))
}

func differs(best, r *RolloutKept) string {
	if r == best {
		return "the one compared with"
	}
	at := FirstDifference(&best.Tokens, &r.Tokens)
	if at == r.Tokens.Len() && at == best.Tokens.Len() {
		return "the same tokens"
	}
	if at == r.Tokens.Len() {
		return fmt.Sprintf("token %d: ends", at)
	}
	return fmt.Sprintf("token %d: %s", at, Clean(r.Tokens.Piece[at]))
}

// splits is where the rest of r begins to differ from the best, and for the best where any other one first does.
func splits(group []*RolloutKept, best, r *RolloutKept) int {
	if r != best {
		return FirstDifference(&best.Tokens, &r.Tokens)
	}
	at := best.Tokens.Len()
	for _, other := range group {
		if other.Tokens.Len() > 0 {
			at = min(at, FirstDifference(&best.Tokens, &other.Tokens))
		}
	}
	return at
}

// fork shows the text around token at, which is in the same column for every rollout.
func (s *sheet) fork(r *RolloutKept, at, half int) {
	before := Clean(strings.Join(r.Tokens.Piece[:at], ""))
	after := Clean(strings.Join(r.Tokens.Piece[at:], ""))
	s.line("%6d %s | %s", r.Sample, padLeft(fitEnd(before, half), half), fit(after, half))
}

// fitEnd keeps the last cells of clean text.
func fitEnd(s string, width int) string {
	n := 0
	for i := len(s); i > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		if n += runeColumns(r); n > width {
			return s[i:]
		}
		i -= size
	}
	return s
}
