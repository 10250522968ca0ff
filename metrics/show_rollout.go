// A rollout as plain text: a list of them, one turn by turn, one token by token.

package metrics

import (
	"fmt"
	"math"
	"strings"
)

// RolloutTable lists rollouts, one a line.
func RolloutTable(rollouts []*RolloutKept, width int) string {
	s := sheet{width: width}
	s.line("%5s %6s %6s %-8s %7s %9s %-14s %5s %6s %3s  %s", "step", "group", "sample", "split", "reward", "advantage", "outcome",
		"turns", "tokens", "lag", "kept as")
	for _, r := range rollouts {
		s.line("%5d %6d %6d %-8s %7s %9s %s %5d %6d %3d  %s", r.Step, r.Group, r.Sample, r.Split, r.rewardText(), r.advantageText(),
			pad(Clean(r.Outcome), 14), r.Turns(), r.Tokens.Len(), r.Lag, Clean(strings.Join(r.Why, ", ")))
	}
	return s.String()
}

func (r *RolloutKept) rewardText() string {
	if !r.Graded {
		return "-"
	}
	return number(r.Reward)
}

func (r *RolloutKept) advantageText() string {
	if r.Advantage == nil {
		return "-"
	}
	return signed(*r.Advantage)
}

func signed(v float64) string {
	if v > 0 {
		return "+" + number(v)
	}
	return number(v)
}

// Transcript shows a rollout turn by turn: thinking apart, each tool call with its result.
func Transcript(r *RolloutKept, width int) string {
	s := sheet{width: width}
	s.rolloutHead(r)
	answers := r.Answers()
	for i, m := range r.Messages {
		if _, shown := answers.of[i]; shown {
			continue // below its call
		}
		s.message(r, i, m, answers)
	}
	return s.String()
}

func (s *sheet) rolloutHead(r *RolloutKept) {
	s.line("step %d  group %d  sample %d of %d  %s", r.Step, r.Group, r.Sample, r.Samples, r.Split)
	s.pair("prompt", "%s of %s", Clean(r.Prompt), Clean(r.Source))
	outcome := Clean(r.Outcome)
	if r.Detail != "" {
		outcome += ": " + Clean(r.Detail)
	}
	s.pair("outcome", "%s", outcome)
	s.pair("reward", "%s, advantage %s", r.rewardText(), r.advantageText())
	if r.Filtered != "" {
		s.pair("filtered", "%s", Clean(r.Filtered))
	}
	s.pair("size", "%s, %s, %d of them train, lag %d", plural(r.Turns(), "turn"), plural(r.Tokens.Len(), "token"), r.Tokens.Actions(), r.Lag)
	s.pair("kept as", "%s", Clean(strings.Join(r.Why, ", ")))
}

func (s *sheet) message(r *RolloutKept, i int, m Message, answers Answers) {
	s.line("")
	title := strings.ToUpper(Clean(m.Role))
	if m.Role == "assistant" && m.Node < len(r.Nodes) {
		title += fmt.Sprintf("  turn %d, %s", m.Node+1, Clean(r.Nodes[m.Node].Finish))
	}
	s.line("%s", title)
	s.block("  thinking | ", m.Thinking)
	s.block("  ", m.Text)
	for k, c := range m.Calls {
		s.para("  call     > ", Clean(c.Name)+" "+Clean(c.Arguments))
		if answer, ok := answers.to[[2]int{i, k}]; ok {
			s.block("  result   < ", r.Messages[answer].Text)
		} else {
			s.line("  result   < (none)")
		}
	}
	if m.Problem != "" {
		s.para("  problem  ! ", Clean(m.Problem))
	}
}

// block adds text of several lines behind a margin.
func (s *sheet) block(margin, text string) {
	if text == "" {
		return
	}
	for _, l := range cleanLines(text) {
		s.para(margin, l)
	}
}

// Answers pairs tool calls with tool messages.
type Answers struct {
	to map[[2]int]int // message and call → the message that answers
	of map[int][2]int // the reverse
}

// Answers pairs each tool message with the call it names, or, when it names none, with the first open call of the
// assistant message before it.
func (r *RolloutKept) Answers() Answers {
	a := Answers{to: map[[2]int]int{}, of: map[int][2]int{}}
	for i, m := range r.Messages {
		if m.Role != "tool" {
			continue
		}
		if call, ok := r.callOf(i, m, a); ok {
			a.to[call], a.of[i] = i, call
		}
	}
	return a
}

func (r *RolloutKept) callOf(at int, answer Message, a Answers) (call [2]int, ok bool) {
	for i := at - 1; i >= 0; i-- {
		if r.Messages[i].Role != "assistant" {
			continue
		}
		for k, c := range r.Messages[i].Calls {
			call := [2]int{i, k}
			if _, taken := a.to[call]; !taken && (answer.CallID == "" || answer.CallID == c.ID) {
				return call, true
			}
		}
		if answer.CallID == "" {
			return call, false
		}
	}
	return call, false
}

// TokenTable shows a rollout token by token. Observation tokens carry no numbers. The last line adds up the loss.
func TokenTable(r *RolloutKept, width int) string {
	s := sheet{width: width}
	t := &r.Tokens
	s.line("%6s %4s %7s %-1s %9s %9s %9s %8s %8s %8s %10s %4s  %s", "token", "turn", "id", "", "logp gen", "old", "new",
		"ratio", "mismatch", "advant.", "loss", "ver.", "text")
	for i := range t.ID {
		s.line("%6d %4d %7d %s %9s %9s %9s %8s %8s %8s %10s %4s  %s", i, t.Node[i]+1, t.ID[i], t.mark(i), t.lane("%.4f", t.LogpGen, i),
			t.lane("%.4f", t.LogpOld, i), t.lane("%.4f", t.LogpNew, i), t.factor(t.Ratio(i), i), t.factor(t.Mismatch(i), i),
			t.lane("%+.3f", t.Advantage, i), t.lane("%+.2e", t.Loss, i), t.version(i), Clean(t.Piece[i]))
	}
	s.line("%s", "* trains, + sampled but masked, others were shown to the policy; log-probs in nats")
	if r.LossShare != nil && t.Loss != nil {
		s.line("loss of the %d tokens that train: %.9g; the rollout's share of the step's loss: %.9g", t.Actions(), t.LossSum(), *r.LossShare)
	}
	return s.String()
}

func (t *Tokens) mark(i int) string {
	switch {
	case t.Action[i]:
		return "*"
	case t.Sampled[i]:
		return "+"
	}
	return " "
}

// lane spells a number of a sampled token; "" where there is none.
func (t *Tokens) lane(format string, values []float32, i int) string {
	if values == nil || !t.Sampled[i] {
		return ""
	}
	return fmt.Sprintf(format, values[i])
}

func (t *Tokens) factor(v float64, i int) string {
	if math.IsNaN(v) || !t.Sampled[i] {
		return ""
	}
	return fmt.Sprintf("%.4f", v)
}

func (t *Tokens) version(i int) string {
	if !t.Sampled[i] {
		return ""
	}
	return fmt.Sprint(t.Version[i])
}
