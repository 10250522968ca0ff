// The words of the house (design.md, section 5). A prompt is tried n times: that is a Group of n Rollouts. A rollout is
// a forest of Nodes, one for each turn: what the policy was shown, then what it sampled. Token ids are stored once, in
// the node that added them, exactly as the engine was given them and as it returned them; text is never re-tokenised.

package traj

// Version is the number of a set of weights: the optimizer step that made them. Version 0 is what training started from.
type Version int64

// Group holds the n rollouts of one prompt. Baselines compare rollouts inside a group and nowhere else.
type Group struct {
	ID       int64      // ordinal of dispatch in the run, from 0 and never reused; evaluations count down from -1
	Prompt   string     // id of the prompt in its prompt set
	Source   string     // name of the prompt set, for per-source metrics
	Rollouts []*Rollout // in order of Sample; index i holds Sample i
	Filtered string     // why the group does not train; "" when it does
}

// Rollout is one run of an agent on one prompt.
type Rollout struct {
	Group   int64   // ordinal of its group
	Sample  int     // 0..n-1 inside the group
	Attempt int     // 0 for the first try; infrastructure failures are retried with the same Sample
	Outcome Outcome // how it ended
	Detail  string  // one sentence for people when Outcome is not Completed
	Nodes   []Node  // parents before children

	Reward float64            // sum of the turns' rewards; only what the policy did is graded
	Score  float64            // what evaluation counts; equals Reward unless the environment says otherwise
	Info   map[string]float64 // numbers of the last turn, for metrics
}

// Node is what one turn added to the tokens of its parent: ids that the policy was shown, then ids that it sampled.
type Node struct {
	Parent      int       // index of the parent in Rollout.Nodes; -1 for a root
	Observation []int32   // ids the engine was given after the parent's, never trained on
	Sampled     []int32   // ids the engine returned: the action tokens, unless Constrained
	LogpGen     []float32 // [len(Sampled)] nats, at the sampling temperature, as the generator reported
	Version     []Version // [len(Sampled)] the weights that sampled each id
	Images      []Image   // what Observation shows besides text, in ascending order of At
	Temperature float32   // sampling temperature of this turn; 0 means greedy (such a turn is evaluated, not trained)
	Constrained bool      // no free sample of the policy, such as a reply in a format: such a turn is not trained
	Finish      Finish    // why sampling stopped
	Reward      float64   // reward of this turn
	NewSegment  string    // why this node is a new root although the rollout already had one; "" otherwise
}

// Image is an encoded image that the policy is shown. It is known by its digest; its bytes may be elsewhere.
type Image struct {
	At     int    `json:"at"`             // index of the first id of its placeholder: in a node's Observation, a segment's Tokens, a prompt
	Digest string `json:"digest"`         // "sha256:" and the digest of the encoded bytes, in hexadecimal
	Media  string `json:"media_type"`     // such as image/png
	Data   []byte `json:"data,omitempty"` // the encoded bytes; nil where they are elsewhere
}

// Shift moves images by n ids. It changes a copy.
func Shift(images []Image, n int) []Image {
	out := make([]Image, len(images))
	for i, m := range images {
		m.At += n
		out[i] = m
	}
	return out
}

// Finish says why the engine stopped sampling.
type Finish string

const (
	FinishStop   Finish = "stop"   // a stop token or sequence was sampled; it is the last of Sampled
	FinishLength Finish = "length" // the turn's or the rollout's token budget ran out
	FinishAbort  Finish = "abort"  // cancelled; what was sampled until then is kept
)

// Outcome is how a rollout ended. Only Completed and Truncated rollouts are graded and enter group statistics: a
// failure of anything but the policy is never a reward of 0.
type Outcome string

const (
	Completed      Outcome = "completed"      // the environment said terminated
	Truncated      Outcome = "truncated"      // the policy used up its turns or tokens; graded on what it had earned
	Infrastructure Outcome = "infrastructure" // an engine, network or machine failed
	Grader         Outcome = "grader"         // the reward could not be computed, or was not a number
	Harness        Outcome = "harness"        // the agent's own code failed or panicked
	Timeout        Outcome = "timeout"        // a deadline passed before the environment or harness answered
	Cancelled      Outcome = "cancelled"      // the run was stopped
)

// Outcomes lists every outcome, in the order reports show them.
var Outcomes = []Outcome{Completed, Truncated, Infrastructure, Grader, Harness, Timeout, Cancelled}

// Graded reports whether a rollout with this outcome has a reward that means something.
func (o Outcome) Graded() bool { return o == Completed || o == Truncated }

// Retryable reports whether the same sample may be tried again: the policy was not the cause.
func (o Outcome) Retryable() bool { return o == Infrastructure || o == Timeout }

// Turns counts the rollout's calls of the policy.
func (r *Rollout) Turns() int { return len(r.Nodes) }

// Sampled counts the rollout's action tokens, each once however many segments share it.
func (r *Rollout) Sampled() int {
	n := 0
	for i := range r.Nodes {
		n += len(r.Nodes[i].Sampled)
	}
	return n
}

// Tokens counts all tokens of the rollout, each once.
func (r *Rollout) Tokens() int {
	n := 0
	for i := range r.Nodes {
		n += len(r.Nodes[i].Observation) + len(r.Nodes[i].Sampled)
	}
	return n
}

// Lag is the largest number of steps by which the rollout's tokens are older than the given learner version.
func (r *Rollout) Lag(learner Version) int64 {
	var lag int64
	for i := range r.Nodes {
		for _, v := range r.Nodes[i].Version {
			lag = max(lag, int64(learner-v))
		}
	}
	return lag
}

// Graded lists the group's rollouts that were graded, in order of Sample. Each counts once, however many segments it has.
func (g *Group) Graded() []*Rollout {
	var graded []*Rollout
	for _, r := range g.Rollouts {
		if r != nil && r.Outcome.Graded() {
			graded = append(graded, r)
		}
	}
	return graded
}
