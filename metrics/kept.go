// A rollout kept for people: what was said, and every number that each of its tokens had.

package metrics

import (
	"fmt"
	"math"
)

// MaxTokens bounds the tokens of a kept rollout.
const MaxTokens = 1 << 20

// Splits that a kept rollout can come from.
const (
	Train   = "train"
	HeldOut = "held_out"
)

// RolloutKept is one line of rollouts.jsonl.
type RolloutKept struct {
	Step    int64    `json:"step"`            // that trained on it, or that the evaluation came after
	Split   string   `json:"split"`           // Train or HeldOut
	Group   int64    `json:"group"`           // ordinal of the group
	Sample  int      `json:"sample"`          // 0..n-1 inside the group
	Samples int      `json:"samples"`         // n, whether or not the others were kept
	Prompt  string   `json:"prompt"`          // id of the prompt in its prompt set
	Source  string   `json:"source"`          // name of the prompt set
	Why     []string `json:"why,omitempty"`   // which parts of the rule kept it
	Alarm   string   `json:"alarm,omitempty"` // name of the alarm that it is evidence of

	Outcome   string             `json:"outcome"`
	Detail    string             `json:"detail,omitempty"`   // one sentence when the outcome is not "completed"
	Filtered  string             `json:"filtered,omitempty"` // why its group did not train; "" when it did
	Retries   int                `json:"retries,omitzero"`   // infrastructure failures before this try
	Graded    bool               `json:"graded"`             // Reward means something
	Reward    float64            `json:"reward"`
	Score     float64            `json:"score"`                // what evaluation counts
	Advantage *float64           `json:"advantage,omitempty"`  // of the whole rollout; nil when it did not train or has one for each token
	Lag       int64              `json:"lag"`                  // steps, the largest of its tokens
	LossShare *float64           `json:"loss_share,omitempty"` // its part of the step's loss; nil when it did not train
	StepLoss  *float64           `json:"step_loss,omitempty"`  // the policy loss that LossShare is a part of
	Seconds   float64            `json:"seconds"`              // from start to grade; 0 where it was not measured
	Info      map[string]float64 `json:"info,omitempty"`       // numbers from the environment

	Messages []Message `json:"messages"`
	Nodes    []Node    `json:"nodes"`
	Tokens   Tokens    `json:"tokens"`
}

// Message is one message of the conversation, in order of the nodes.
type Message struct {
	Node     int        `json:"node"` // the turn it belongs to
	Role     string     `json:"role"` // system, user, assistant or tool
	Text     string     `json:"text,omitempty"`
	Thinking string     `json:"thinking,omitempty"`
	Calls    []ToolCall `json:"calls,omitempty"`
	CallID   string     `json:"call_id,omitempty"` // of the call that a tool message answers; "" answers the first open one
	Problem  string     `json:"problem,omitempty"` // why the text could not be read as meant, such as a call that is not JSON
}

// ToolCall is a call of a tool by the policy.
type ToolCall struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON text as the policy wrote it
}

// Node is one turn; see traj.Node.
type Node struct {
	Parent      int     `json:"parent"` // -1 for a root
	Temperature float32 `json:"temperature"`
	Finish      string  `json:"finish"`
	Reward      float64 `json:"reward"`
	NewSegment  string  `json:"new_segment,omitempty"` // why it is a root although there was one already
}

// Tokens holds the rollout's T tokens, each once, node after node. A slice is nil where the quantity was not computed;
// the numbers of observation tokens are 0. The ratio is exp(New − Old), the mismatch exp(Old − Gen).
type Tokens struct {
	ID        []int32       `json:"id"`                  // [T]
	Piece     []string      `json:"piece"`               // [T] text of each id; bytes that are none by themselves are spelled <0xE2>
	Node      Runs[int]     `json:"node"`                // [T] the turn that added it
	Sampled   Runs[bool]    `json:"sampled"`             // [T] by the policy; all others are observation
	Action    Runs[bool]    `json:"action"`              // [T] trains; false for sampled tokens that are masked
	Version   Runs[int64]   `json:"version"`             // [T] the weights that sampled it
	LogpGen   []float32     `json:"logp_gen"`            // [T] nats
	LogpOld   []float32     `json:"logp_old,omitempty"`  // [T] nats
	LogpNew   []float32     `json:"logp_new,omitempty"`  // [T] nats
	LogpRef   []float32     `json:"logp_ref,omitempty"`  // [T] nats
	Entropy   []float32     `json:"entropy,omitempty"`   // [T] nats
	Advantage Runs[float32] `json:"advantage,omitempty"` // [T]
	Clipped   Runs[bool]    `json:"clipped,omitempty"`   // [T] the clip took its gradient
	Loss      []float32     `json:"loss,omitempty"`      // [T] contribution to the step's loss; sums to LossShare
}

// Len is T.
func (t *Tokens) Len() int { return len(t.ID) }

// Actions counts the tokens that train.
func (t *Tokens) Actions() int {
	n := 0
	for _, a := range t.Action {
		if a {
			n++
		}
	}
	return n
}

// Ratio is exp(New − Old) of token i, NaN where it was not computed.
func (t *Tokens) Ratio(i int) float64 { return expDiff(t.LogpNew, t.LogpOld, i) }

// Mismatch is exp(Old − Gen) of token i, NaN where it was not computed.
func (t *Tokens) Mismatch(i int) float64 { return expDiff(t.LogpOld, t.LogpGen, i) }

func expDiff(a, b []float32, i int) float64 {
	if a == nil || b == nil {
		return math.NaN()
	}
	return math.Exp(float64(a[i]) - float64(b[i]))
}

// LossSum adds up the tokens' contributions to the loss.
func (t *Tokens) LossSum() float64 {
	var sum float64
	for _, v := range t.Loss {
		sum += float64(v)
	}
	return sum
}

// Ref names the rollout.
func (r *RolloutKept) Ref() Ref { return Ref{Step: r.Step, Group: r.Group, Sample: r.Sample} }

// Turns counts the calls of the policy.
func (r *RolloutKept) Turns() int { return len(r.Nodes) }

// Validate says which promise of the type a rollout breaks.
func (r *RolloutKept) Validate() error {
	if err := r.validate(); err != nil {
		return fmt.Errorf("metrics: rollout of step %d group %d sample %d: %w", r.Step, r.Group, r.Sample, err)
	}
	return nil
}

func (r *RolloutKept) validate() error {
	if r.Split != Train && r.Split != HeldOut {
		return fmt.Errorf("split %q is neither %q nor %q", r.Split, Train, HeldOut)
	}
	for i, n := range r.Nodes {
		if n.Parent < -1 || n.Parent >= i {
			return fmt.Errorf("node %d has parent %d, which does not come before it", i, n.Parent)
		}
	}
	for i, m := range r.Messages {
		if m.Node < 0 || m.Node >= max(1, len(r.Nodes)) {
			return fmt.Errorf("message %d belongs to node %d of %d", i, m.Node, len(r.Nodes))
		}
	}
	return r.Tokens.validate(len(r.Nodes))
}

func (t *Tokens) validate(nodes int) error {
	n := t.Len()
	if n > MaxTokens {
		return fmt.Errorf("%d tokens; the most that is kept is %d", n, MaxTokens)
	}
	for _, lane := range t.lanes() {
		if lane.len != n && !(lane.optional && lane.len == 0) {
			return fmt.Errorf("%s has %d numbers for %d tokens", lane.name, lane.len, n)
		}
	}
	for i, node := range t.Node {
		if node < 0 || node >= nodes {
			return fmt.Errorf("token %d belongs to node %d of %d", i, node, nodes)
		}
	}
	return nil
}

type lane struct {
	name     string
	len      int
	optional bool
}

func (t *Tokens) lanes() []lane {
	return []lane{
		{"piece", len(t.Piece), false}, {"node", len(t.Node), false}, {"sampled", len(t.Sampled), false},
		{"action", len(t.Action), false}, {"version", len(t.Version), false}, {"logp_gen", len(t.LogpGen), false},
		{"logp_old", len(t.LogpOld), true}, {"logp_new", len(t.LogpNew), true}, {"logp_ref", len(t.LogpRef), true},
		{"entropy", len(t.Entropy), true}, {"advantage", len(t.Advantage), true}, {"clipped", len(t.Clipped), true},
		{"loss", len(t.Loss), true},
	}
}
