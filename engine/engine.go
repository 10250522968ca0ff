// Token ids in, token ids out. The algorithm depends on the model through one number for each token, its log-probability
// (and entropy and value when asked); every engine continues the chain rule from there.
//
// Legend: T tokens of a packed batch, N scored tokens of it, S sequences.

package engine

import (
	"context"
	"errors"

	"molt/traj"
)

// Generator samples continuations. It is safe for concurrent use: requests that run at the same time are batched, and
// the batch an engine happens to form changes no bit of a reply where Capabilities says Deterministic.
type Generator interface {
	// Generate samples until a stop, the token budget, or the end of ctx. It calls emit, if not nil, once for each token
	// in order, from one goroutine, before Generate returns; emit must not block. When ctx ends, the reply holds what was
	// sampled until then with FinishAbort, and the error is nil: what was generated is never thrown away silently.
	Generate(ctx context.Context, r Request, emit func(Token)) (Reply, error)
	Capabilities() Capabilities
	// Close ends running requests as if their ctx had ended, waits for them, and refuses later ones. Closing twice is fine.
	Close() error
}

// Request is one call of the policy.
type Request struct {
	Prompt   []int32 // every id the model sees; not empty. The engine copies what it keeps
	Sampling Sampling
	Key      Key          // which random numbers to use
	Session  string       // requests of one session extend each other: a hint where cached KV may be found; "" for none
	Tag      string       // names the request in errors and logs
	Images   []traj.Image // that the prompt shows, each at its placeholder, with their bytes. It needs Capabilities.Images
	Earlier  int          // of a reply that goes on: so many ids at the end of Prompt were sampled for it before

	// Constrain begins a constraint of this reply; nil for none. It needs Capabilities.Constrained.
	Constrain func() Constraint
}

// Constraint says, step by step, which ids of one reply may come next. An engine uses it from one goroutine at a time. What
// was sampled under one is no free sample: log-probs stay those of the whole distribution, which is not what the id was
// drawn from, so it does not train.
type Constraint interface {
	// Allowed sets the bits of the ids that may come next, id%64 of mask[id/64], and clears all others. When there is none,
	// the request fails.
	Allowed(mask []uint64)
	// Take goes on behind an id that was sampled.
	Take(id int32)
}

// MaskWords is the length of a mask over a vocabulary.
func MaskWords(vocab int) int { return (vocab + 63) / 64 }

// Sampling says how to choose tokens. The zero value is greedy decoding of nothing: MaxTokens must be set.
type Sampling struct {
	Temperature   float32   // divides the logits; 0 takes the most likely id (the lowest on a tie)
	TopP          float32   // keep the smallest set of ids with at least this probability; 0 and 1 keep all
	TopK          int       // keep the k most likely ids; 0 keeps all
	MinP          float32   // keep ids with at least MinP times the largest probability; 0 keeps all
	MaxTokens     int       // stop after so many ids; at least 1
	StopTokens    []int32   // stop after sampling one of these (the EOS list); it stays in the reply
	StopSequences [][]int32 // stop after sampling one of these runs of ids; it stays in the reply

	// What follows changes the logits that ids are drawn by, Bias first, and needs Capabilities.Shapes. Log-probs stay those of
	// the logits as they were: what was sampled under any of these is no free sample of the policy.
	Bias              []Bias
	RepetitionPenalty float32 // divides positive logits of ids in the prompt or the reply, multiplies negative ones; 0 and 1 do nothing
	FrequencyPenalty  float32 // is taken off an id's logit for each time that the reply has it
	PresencePenalty   float32 // is taken off the logits of ids that the reply has
	MinTokens         int     // before so many ids no stop token can be sampled, unless nothing else can

	Top int // report so many of the likeliest ids with each token; 0 to Capabilities.Top
}

// Bias is added to the logit of an id.
type Bias struct {
	ID    int32
	Value float32
}

// Shapes reports whether the settings change the logits that ids are drawn by.
func (s *Sampling) Shapes() bool {
	return len(s.Bias) > 0 || s.Penalizes() || s.MinTokens > 0
}

// Penalizes reports whether logits depend on which ids came before.
func (s *Sampling) Penalizes() bool {
	return s.FrequencyPenalty != 0 || s.PresencePenalty != 0 || s.RepetitionPenalty != 0 && s.RepetitionPenalty != 1
}

// Key selects the random numbers of a request. The draw for the i-th sampled token is a function of Key and i alone, so a
// rollout is the same whatever it was batched with, on whichever thread, and whenever it was resumed.
type Key struct {
	Seed   uint64 // of the run
	Group  int64  // ordinal of the group in the run
	Sample int32  // of the rollout in its group
	Turn   int32  // ordinal of the call in the rollout
}

// Token is one sampled id.
type Token struct {
	ID      int32
	Logp    float32 // nats, under the whole distribution at the sampling temperature (at temperature 1 when greedy)
	Version traj.Version
	Top     []Ranked // the likeliest ids in its place, when they were asked for; likeliest first, the lowest id first among equals
}

// Ranked is an id and its log-prob, as in Token.
type Ranked struct {
	ID   int32
	Logp float32
}

// Reply is what one Generate returned.
type Reply struct {
	Tokens      []Token
	Finish      traj.Finish
	Fingerprint string // of the weights that sampled the last token, as the engine serves them
	Cached      int    // ids of the prompt whose KV was reused
}

// Capabilities says what an engine can prove. A run is refused at launch when its algorithm needs something missing.
type Capabilities struct {
	Name          string
	Deterministic bool   // same Key and weights, same bits, for any batch, chunking and cache reuse
	Numerics      string // names the arithmetic; "" is nobody else's. See LearnerCapabilities
	Versions      bool   // a version on every token, also when weights change under a request
	Vocab         int    // ids are 0..Vocab-1
	MaxTokens     int    // longest prompt plus reply
	Constrained   bool   // honours Request.Constrain
	Images        bool   // reads Request.Images; without, the model is for text only
	Shapes        bool   // honours the Sampling that changes logits
	Top           int    // the most that Sampling.Top may ask for
}

// Scorer computes what a model makes of given tokens. A reference that never changes is no more than that. It is driven by
// one goroutine.
type Scorer interface {
	// Forward scores a micro-batch and keeps the pass alive until Backward or Release. A scorer that is no learner refuses
	// Want.Grad.
	Forward(ctx context.Context, b Batch, want Want) (Pass, error)
	Capabilities() LearnerCapabilities
	Close() error
}

// Learner owns the weights under training: the calls of a step are Forward, Backward (or Release), … , Step. Gradients
// accumulate from one Step to the next.
type Learner interface {
	Scorer
	// Step applies the accumulated gradients and clears them. The new version is one more than the last. A step whose
	// gradient norm is not finite changes no weight, clears the gradients, and says so in Skipped.
	Step(ctx context.Context, o StepOptions) (StepResult, error)
	// Weights gives the current weights for a sink, without a value head that steps by StepOptions.Head. The tensors are
	// read-only and valid until the next Step.
	Weights(ctx context.Context) (Weights, error)
	// Save writes everything that training from here depends on into the folder dir, wholly or not at all, and with it the
	// caller's state (JSON, opaque): weights and the position in the data commit together. Load reads both back, bit for
	// bit; when it fails, nothing has changed.
	Save(ctx context.Context, dir string, state []byte) error
	Load(ctx context.Context, dir string) (state []byte, err error)
}

// Batch is a packed micro-batch: sequences one behind the other, no padding.
type Batch struct {
	Tokens      []int32   // [T]
	Starts      []int32   // [S+1] sequence i is Tokens[Starts[i]:Starts[i+1]], two tokens or more
	Score       []int32   // [N] ascending indices into Tokens, none the first of its sequence: score this id given its prefix
	Temperature []float32 // [N] divides the logits of each scored token; nil means 1
}

// Want says which lanes a pass computes besides log-probs. A lane that is not wanted costs nothing.
type Want struct {
	Entropy bool
	Value   bool
	Grad    bool // Backward will be called; without it the engine keeps nothing
}

// Pass is one forward pass whose graph is still alive. At most one pass of a learner is alive at a time: until Backward
// or Release, whatever was wanted of it, a Forward, Step, Save or Load beside it is an error.
type Pass interface {
	Logp() []float32    // [N] nats; valid until Backward or Release
	Entropy() []float32 // [N] nats, of the distribution at the scored temperature; nil unless wanted
	Value() []float32   // [N]; nil unless wanted
	// Backward continues the chain rule from the loss's derivative by each lane and adds to the gradients. dEntropy and
	// dValue may be nil. Engines add up; they never divide.
	Backward(ctx context.Context, dLogp, dEntropy, dValue []float32) error
	Release() // ends the pass without a backward; a no-op after Backward
}

// StepOptions are one optimizer step's settings.
type StepOptions struct {
	LR   float64
	Clip float64 // largest global gradient norm; 0 does not clip
	Head *HeadStep
}

// HeadStep steps a value head that shares the policy's trunk and has an optimizer of its own: where
// LearnerCapabilities.OwnHead is set it must be given, elsewhere it is an error.
type HeadStep struct {
	LR   float64
	Clip float64 // largest norm of the head's gradient; 0 does not clip
	Only bool    // the policy stays as it is, version included; its gradients are dropped
}

// StepResult is what an optimizer step did.
type StepResult struct {
	Version  traj.Version
	GradNorm float64 // before clipping; without the head's where that has an optimizer of its own
	HeadNorm float64 // of that head's gradient, before clipping
	Skipped  bool    // a norm was not finite: nothing changed, and Version is the old one
}

// LearnerCapabilities says what a learner can do.
type LearnerCapabilities struct {
	Name      string
	Numerics  string // a Generator with the same name reports, bit for bit, the log-probs that Forward computes at equal weights
	Value     bool   // has a value head
	OwnHead   bool   // the value head has an optimizer of its own and is no part of Weights; see HeadStep
	Vocab     int
	MaxTokens int // longest sequence
	MaxBatch  int // most tokens in one Forward, over all ranks: a distributed learner deals whole sequences out itself
}

// WeightSink receives published weights. A sink proves what it serves: the fingerprint comes back with every reply.
type WeightSink interface {
	// Publish makes w the weights of every token sampled after it returns. KV computed under other weights is never
	// reused. On error the sink still serves what it served before, or reports ErrLost.
	Publish(ctx context.Context, w Weights) error
	Serving() (traj.Version, string)
}

// Weights is a published version: a manifest, and for engines in this process the tensors themselves.
type Weights struct {
	Version     traj.Version
	Parent      traj.Version // the version this one was trained from
	Fingerprint string       // over names, shapes and bytes; with an adapter, over its base's fingerprint and all of the adapter
	Folder      string       // safetensors that hold the bytes, for engines elsewhere; "" when they are in Tensors
	Tensors     []Tensor     // with an adapter, its base
	Adapter     *Adapter     // changes some of Tensors; nil for none. Who serves Tensors without it serves another model
}

// Tensor is one named array. Names and shapes are those of the Hugging Face checkpoint.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32 // nil where the bytes are only in Weights.Folder
}

var (
	// ErrUnavailable marks a call that did nothing and may be tried again, here or elsewhere.
	ErrUnavailable = errors.New("engine unavailable")
	// ErrLost marks an engine whose state is gone: start another and load a checkpoint.
	ErrLost = errors.New("engine lost")
	// ErrFinal marks a request that fails again however often it is tried.
	ErrFinal = errors.New("trying again is pointless")
	// ErrTooLong marks a prompt or sequence beyond the engine's MaxTokens.
	ErrTooLong = errors.New("too many tokens for the engine")
)
