// Events of one step or evaluation. Everything that says "rollouts" counts rollouts, never segments.

package metrics

// SFTStep is one optimizer update of supervised fine-tuning. Where only some have an event, the tokens and the time are those of
// all steps since the one before.
type SFTStep struct {
	Step         int64   `json:"step"`           // 1, 2, 3, …
	Loss         float64 `json:"loss"`           // nats per trained token
	GradNorm     float64 `json:"grad_norm"`      // before clipping
	LearningRate float64 `json:"learning_rate"`  //
	Trained      int64   `json:"trained_tokens"` // tokens with loss
	Tokens       int64   `json:"tokens"`         // all tokens of the batches
	WallSeconds  float64 `json:"wall_seconds"`   // of the steps, evaluations left aside

	HeldOut *float64 `json:"held_out_loss,omitempty"` // nats per token of held-out conversations, after the update; nil where it was not measured
}

// StepDone is one optimizer update of reinforcement learning: what went in, what it did, what it took. A pointer is nil
// when the quantity was not computed.
type StepDone struct {
	Step    int64 `json:"step"`    // 1, 2, 3, …
	Version int64 `json:"version"` // of the weights that this step made

	Fingerprint string `json:"fingerprint,omitempty"` // of these weights, adapter included, as the engine that serves them reports it

	Groups       int            `json:"groups"`             // taken by the step
	Filtered     map[string]int `json:"filtered,omitempty"` // of these, groups that did not train, by reason
	Outcomes     map[string]int `json:"outcomes,omitempty"` // rollouts, by outcome
	Dropped      map[string]int `json:"dropped,omitempty"`  // rollouts that never reached a step, by reason, since the last one
	Reward       Dist           `json:"reward"`             // over graded rollouts; training prompts only
	Turns        Dist           `json:"turns"`              // per rollout
	ActionTokens Dist           `json:"action_tokens"`      // per rollout
	Lag          Dist           `json:"lag"`                // steps, per trained token

	Info map[string]float64 `json:"info,omitempty"` // mean over graded rollouts of the environment's numbers, by name

	Loss         float64     `json:"loss"`                    // what the optimizer minimised
	Entropy      *float64    `json:"entropy,omitempty"`       // nats per trained token
	Ratio        *Divergence `json:"ratio,omitempty"`         // LogpNew against LogpOld
	Mismatch     *Divergence `json:"mismatch,omitempty"`      // LogpOld against LogpGen
	Reference    *Divergence `json:"reference,omitempty"`     // LogpNew against LogpRef
	ClipFraction *float64    `json:"clip_fraction,omitempty"` // of trained tokens, 0..1
	ESS          *float64    `json:"ess,omitempty"`           // effective share of the sample under the mismatch weights, 0..1
	GradNorm     float64     `json:"grad_norm"`               // before clipping
	Skipped      bool        `json:"skipped,omitzero"`        // the norm was not finite, so nothing changed
	LearningRate float64     `json:"learning_rate"`           //
	KLCoef       *float64    `json:"kl_coef,omitempty"`       // weight of the KL to the reference
	Critic       *Critic     `json:"critic,omitempty"`        // what the step did to the critic

	Generated       int64   `json:"generated_tokens"`       // sampled since the last step
	Trained         int64   `json:"trained_tokens"`         // with gradient in this step
	GeneratedPerSec float64 `json:"generated_tokens_per_s"` // while generating
	TrainedPerSec   float64 `json:"trained_tokens_per_s"`   // all tokens of the segments, while training

	Seconds     map[string]float64 `json:"seconds,omitempty"` // by phase: generate, score, train, publish, …
	WallSeconds float64            `json:"wall_seconds"`      // since the last step ended
	Idle        float64            `json:"idle"`              // share of that time in which neither engine worked, 0..1
}

// Divergence compares two log-probs of the same sampled tokens, d = log q − log p, sampled from p. K1 and K3 estimate
// KL(p‖q); K3 is never negative and has the lower variance (Schulman 2020).
type Divergence struct {
	K1  float64 `json:"k1"`  // nats, mean of −d
	K3  float64 `json:"k3"`  // nats, mean of exp(d) − 1 − d
	Max float64 `json:"max"` // nats, largest |d|
}

// Critic is what a step did to the critic.
type Critic struct {
	Loss         float64 `json:"loss"`               // per trained token, over all of the critic's updates
	Explained    float64 `json:"explained_variance"` // of the returns, by its values before the step; at most 1
	ClipFraction float64 `json:"clip_fraction"`      // of values that moved further than the clip, 0..1
	GradNorm     float64 `json:"grad_norm"`          // before clipping
	LearningRate float64 `json:"learning_rate"`      //
	Alone        bool    `json:"alone,omitzero"`     // the policy was frozen
}

// EvalDone is one evaluation.
type EvalDone struct {
	Step         int64                 `json:"step"`              // after which step; 0 is the model training starts from
	Version      int64                 `json:"version"`           // of the weights that were evaluated
	Name         string                `json:"name"`              // of the prompt set, such as "held_out"
	Temperature  float64               `json:"temperature"`       // 0 is greedy
	N            int                   `json:"n"`                 // graded rollouts
	Samples      int                   `json:"samples"`           // k: rollouts per prompt
	PassAt1      float64               `json:"pass_at_1"`         // mean over prompts of the mean score, 0..1
	PassAtK      float64               `json:"pass_at_k"`         // mean over prompts of the best score, 0..1
	Sources      map[string]EvalSource `json:"sources,omitempty"` // per source, when there are several
	Outcomes     map[string]int        `json:"outcomes,omitempty"`
	Turns        Dist                  `json:"turns"`         // per rollout
	ActionTokens Dist                  `json:"action_tokens"` // per rollout
	WallSeconds  float64               `json:"wall_seconds"`
}

// EvalSource is the part of an evaluation that came from one source.
type EvalSource struct {
	N       int     `json:"n"`
	PassAt1 float64 `json:"pass_at_1"`
	PassAtK float64 `json:"pass_at_k"`
}

func (SFTStep) Kind() string  { return "sft_step" }  // implements Event
func (StepDone) Kind() string { return "step_done" } // implements Event
func (EvalDone) Kind() string { return "eval_done" } // implements Event
