package model

// Batch is packed variable-length sequences, no padding. A sequence has at least two tokens, at most MaxPositions.
type Batch struct {
	Tokens      []int32
	Starts      []int32   // [S+1] sequence i is Tokens[Starts[i]:Starts[i+1]]
	Score       []int32   // [N] ascending indices into Tokens, none the first of its sequence: log-prob of this token given its prefix
	Temperature []float32 // [N] divides the logits of each scored token; nil means 1
}

// Want says which lanes a pass computes besides log-probs.
type Want struct {
	Entropy bool
	Value   bool
	Grad    bool // Backward will be called; w must have been made for it
}

// Pass is one forward pass. It and its slices belong to the Work and are valid until the Work's next use.
type Pass struct {
	Logp    []float32 // [N] nats
	Entropy []float32 // [N] nats, of the distribution at the scored temperature; nil unless wanted
	Value   []float32 // [N] the value head at the token before the scored one; nil unless wanted
}

// Forward scores a batch. It panics with Fits' error when b does not fit w: callers with outside data ask Fits first.
func (m *Model) Forward(w *Work, b Batch, want Want) *Pass {
	panic("model: Forward is not built yet")
}

// Backward continues the chain rule from the derivatives by each lane, all [N], and adds to g. dEntropy and dValue may be
// nil. It consumes the pass: a second call panics.
func (p *Pass) Backward(g *Grads, dLogp, dEntropy, dValue []float32) {
	panic("model: Backward is not built yet")
}
