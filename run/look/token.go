// One token of a rollout, with every number that is known of it; and a run as one JSON object.

package look

import (
	"fmt"
	"math"
	"strings"

	"molt/metrics"
	"molt/run/problem"
)

// TokenFacts is one token. A pointer is nil where the quantity was not computed; log-probs are in nats.
type TokenFacts struct {
	Rollout   metrics.Ref `json:"rollout"`
	Index     int         `json:"index"` // in the rollout
	Of        int         `json:"of"`    // tokens of the rollout
	Turn      int         `json:"turn"`  // from 0
	ID        int32       `json:"id"`
	Piece     string      `json:"piece"`
	Before    string      `json:"before"` // the text around it
	After     string      `json:"after"`
	Sampled   bool        `json:"sampled"`             // by the policy
	Action    bool        `json:"action"`              // it trains
	Version   *int64      `json:"version,omitempty"`   // of the weights that sampled it
	LogpGen   *float64    `json:"logp_gen,omitempty"`  //
	LogpOld   *float64    `json:"logp_old,omitempty"`  //
	LogpNew   *float64    `json:"logp_new,omitempty"`  //
	LogpRef   *float64    `json:"logp_ref,omitempty"`  //
	Ratio     *float64    `json:"ratio,omitempty"`     // exp(new − old)
	Mismatch  *float64    `json:"mismatch,omitempty"`  // exp(old − gen)
	Entropy   *float64    `json:"entropy,omitempty"`   // nats
	Advantage *float64    `json:"advantage,omitempty"` //
	Clipped   *bool       `json:"clipped,omitempty"`   // the clip took its gradient
	Loss      *float64    `json:"loss,omitempty"`      // its part of the step's loss

	Temperature float32  `json:"temperature"`          // of its turn
	LossShare   *float64 `json:"loss_share,omitempty"` // the rollout's part of the step's loss
	StepLoss    *float64 `json:"step_loss,omitempty"`  //
}

// contextTokens are shown on either side of a token.
const contextTokens = 12

// Token gathers what is known of token i.
func Token(r *metrics.RolloutKept, i int) (*TokenFacts, error) {
	t := &r.Tokens
	if i < 0 || i >= t.Len() {
		return nil, &problem.Problem{Code: problem.Usage, What: fmt.Sprintf("rollout %s has no token %d", refText(r), i), Fix: fmt.Sprintf("choose one from 0 to %d", t.Len()-1)}
	}
	f := &TokenFacts{
		Rollout: r.Ref(), Index: i, Of: t.Len(), Turn: t.Node[i], ID: t.ID[i], Piece: t.Piece[i], Sampled: t.Sampled[i], Action: t.Action[i],
		Before: strings.Join(t.Piece[max(0, i-contextTokens):i], ""), After: strings.Join(t.Piece[i+1:min(t.Len(), i+1+contextTokens)], ""),
		Temperature: r.Nodes[t.Node[i]].Temperature, LossShare: r.LossShare, StepLoss: r.StepLoss,
	}
	if !f.Sampled {
		return f, nil
	}
	f.Version = &t.Version[i]
	f.LogpGen, f.LogpOld, f.LogpNew, f.LogpRef = laneAt(t.LogpGen, i), laneAt(t.LogpOld, i), laneAt(t.LogpNew, i), laneAt(t.LogpRef, i)
	f.Ratio, f.Mismatch = computed(t.Ratio(i)), computed(t.Mismatch(i))
	f.Entropy, f.Advantage, f.Loss = laneAt(t.Entropy, i), laneAt(t.Advantage, i), laneAt(t.Loss, i)
	if t.Clipped != nil {
		f.Clipped = &t.Clipped[i]
	}
	return f, nil
}

func laneAt(values []float32, i int) *float64 {
	if values == nil {
		return nil
	}
	return new(float64(values[i]))
}

func computed(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// String shows the token for people.
func (f *TokenFacts) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "token %d of %d in rollout %d/%d/%d: %s\n", f.Index, f.Of, f.Rollout.Step, f.Rollout.Group, f.Rollout.Sample, f.role())
	line("text", "%s", metrics.Clean(f.Piece))
	line("between", "%s | %s", metrics.Clean(f.Before), metrics.Clean(f.After))
	line("id", "%d", f.ID)
	line("turn", "%d, %s", f.Turn+1, f.decoding())
	if !f.Sampled {
		return b.String()
	}
	line("version", "%d", *f.Version)
	logp := func(name, who string, v *float64) {
		if v != nil {
			line(name, "%.6f nats, probability %.6f  (%s)", *v, math.Exp(*v), who)
		}
	}
	logp("logp gen", "as the generator reported it", f.LogpGen)
	logp("logp old", "under the learner's weights at the start of the step", f.LogpOld)
	logp("logp new", "under the weights being trained", f.LogpNew)
	logp("logp ref", "under the reference", f.LogpRef)
	number := func(name, format, about string, v *float64) {
		if v != nil {
			line(name, format+"  (%s)", *v, about)
		}
	}
	number("ratio", "%.6f", "exp(new - old)"+f.clipText(), f.Ratio)
	number("mismatch", "%.6f", "exp(old - gen)", f.Mismatch)
	number("entropy", "%.6f", "nats, of the whole distribution", f.Entropy)
	if f.Action {
		number("advantage", "%+.6f", "above 0 makes it likelier", f.Advantage)
		number("loss", "%+.6e", f.shares(), f.Loss)
	}
	return b.String()
}

func (f *TokenFacts) role() string {
	switch {
	case f.Action:
		return "sampled by the policy, trains"
	case f.Sampled:
		return "sampled by the policy, masked: it does not train"
	}
	return "shown to the policy; it has no numbers"
}

func (f *TokenFacts) decoding() string {
	if f.Temperature == 0 {
		return "greedy"
	}
	return fmt.Sprintf("at temperature %g", f.Temperature)
}

func (f *TokenFacts) clipText() string {
	if f.Clipped == nil || !*f.Clipped {
		return ""
	}
	return "; clipped, so it has no gradient"
}

// shares says what the token's loss is a part of.
func (f *TokenFacts) shares() string {
	if f.LossShare == nil || f.StepLoss == nil {
		return "its part of the step's loss"
	}
	return fmt.Sprintf("of the rollout's %+.6e and the step's %+.6e", *f.LossShare, *f.StepLoss)
}

// Outline is a run as one object.
type Outline struct {
	Run         string              `json:"run"`
	Started     *metrics.RunStarted `json:"started,omitempty"` // the newest leg
	Ended       *metrics.RunEnded   `json:"ended,omitempty"`   // nil while it runs, or when it was killed
	Evaluations []metrics.EvalDone  `json:"evaluations"`
	Curves      []Curve             `json:"curves"`
	Alarms      []metrics.Alarm     `json:"alarms"`
	Kept        metrics.Keeping     `json:"kept"`
	Rollouts    []KeptLine          `json:"rollouts"`
}

// Curve is a quantity over the steps of a run.
type Curve struct {
	Name  string    `json:"name"`
	Unit  string    `json:"unit"`
	Step  []int64   `json:"step"`
	Value []float64 `json:"value"`
}

// KeptLine is a kept rollout without its messages and tokens.
type KeptLine struct {
	metrics.Ref
	Split     string   `json:"split"`
	Outcome   string   `json:"outcome"`
	Reward    float64  `json:"reward"`
	Graded    bool     `json:"graded"`
	Advantage *float64 `json:"advantage,omitempty"`
	Turns     int      `json:"turns"`
	Tokens    int      `json:"tokens"`
	Lag       int64    `json:"lag"`
	Why       []string `json:"why"`
}

// Outline gathers the run.
func (l *Run) Outline() Outline {
	o := Outline{Run: l.Path, Evaluations: []metrics.EvalDone{}, Curves: []Curve{}, Alarms: []metrics.Alarm{}, Kept: metrics.KeptTotal(l.Records), Rollouts: []KeptLine{}}
	for _, r := range l.Records {
		switch e := r.Event.(type) {
		case metrics.RunStarted:
			o.Started, o.Ended = &e, nil
		case metrics.RunEnded:
			o.Ended = &e
		case metrics.EvalDone:
			o.Evaluations = append(o.Evaluations, e)
		case metrics.Alarm:
			o.Alarms = append(o.Alarms, e)
		}
	}
	for _, s := range metrics.AllSeries(l.Records) {
		o.Curves = append(o.Curves, l.curve(s))
	}
	for _, r := range l.Rollouts {
		o.Rollouts = append(o.Rollouts, KeptLine{r.Ref(), r.Split, r.Outcome, r.Reward, r.Graded, r.Advantage, r.Turns(), r.Tokens.Len(), r.Lag, r.Why})
	}
	return o
}

func (l *Run) curve(s metrics.Series) Curve {
	c := Curve{Name: s.Name, Unit: s.Unit}
	for _, r := range l.Records {
		if v, ok := s.Value(r.Event); ok {
			step, _ := metrics.StepOf(r.Event)
			c.Step, c.Value = append(c.Step, step), append(c.Value, v)
		}
	}
	return c
}
