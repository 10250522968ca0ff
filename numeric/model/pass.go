package model

import "fmt"

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

	w    *Work
	live bool // Backward may be called
}

// Forward scores a batch. It panics with Fits' error when b does not fit w, so callers with outside data ask Fits first, and
// when w or the model lacks what is wanted.
func (m *Model) Forward(w *Work, b Batch, want Want) *Pass {
	if err := w.Fits(b); err != nil {
		panic(err)
	}
	if w.m != m || want.Value && !w.c.ValueHead || want.Grad && !w.budget.Grad {
		panic(fmt.Sprintf("model: Forward: %+v is more than the Work was made for: value head %t, grad %t",
			want, w.c.ValueHead, w.budget.Grad))
	}
	w.begin(&w.ownKV)
	w.want = want
	w.addBatch(b)
	w.stack()
	w.runBlocks(blocks(w.scored.n, w.blockRows(w.scored.n)), (*scoring)(w))
	p := &w.pass
	*p = Pass{w: w, live: want.Grad, Logp: w.scored.logp[:len(b.Score)]}
	if want.Entropy {
		p.Entropy = w.scored.entropy[:len(b.Score)]
	}
	if want.Value {
		p.Value = w.scored.value[:len(b.Score)]
	}
	return p
}

// addBatch makes b the rows of the pass.
func (w *Work) addBatch(b Batch) {
	slots := 0
	for i, lo := range b.Starts[:max(len(b.Starts)-1, 0)] {
		n := int(b.Starts[i+1] - lo)
		w.add(run{len: n, base: w.ownKV.spanLen(slots), span: pad(n)}, b.Tokens[lo:][:n])
		slots += pad(n)
	}
	s := &w.scored
	s.n = len(b.Score)
	for i, t := range b.Score {
		s.rows[i], s.targets[i], s.inverse[i] = t-1, b.Tokens[t], 1
		if b.Temperature != nil {
			s.inverse[i] = 1 / b.Temperature[i]
		}
	}
}

// Fits reports why b is malformed or beyond the budget, naming the offending index; nil when Forward would take it.
func (w *Work) Fits(b Batch) error {
	if len(b.Tokens) > w.budget.Tokens || len(b.Score) > w.budget.score() {
		return fmt.Errorf("model: a batch of %d tokens with %d scored; the budget is %d with %d",
			len(b.Tokens), len(b.Score), w.budget.Tokens, w.budget.score())
	}
	for i, id := range b.Tokens {
		if id < 0 || int(id) >= w.c.Vocab {
			return fmt.Errorf("model: token %d is %d; the vocabulary has %d", i, id, w.c.Vocab)
		}
	}
	if err := w.fitsStarts(b); err != nil {
		return err
	}
	return fitsScore(b)
}

func (w *Work) fitsStarts(b Batch) error {
	if len(b.Starts) == 0 && len(b.Tokens) == 0 {
		return nil
	}
	if len(b.Starts) == 0 || b.Starts[0] != 0 || int(b.Starts[len(b.Starts)-1]) != len(b.Tokens) {
		return fmt.Errorf("model: %d starts of a batch of %d tokens; they must run from 0 to the number of tokens",
			len(b.Starts), len(b.Tokens))
	}
	for i, lo := range b.Starts[:len(b.Starts)-1] {
		if n := int(b.Starts[i+1]) - int(lo); n < 2 || n > w.c.MaxPositions {
			return fmt.Errorf("model: sequence %d has %d tokens; it must have between 2 and %d", i, n, w.c.MaxPositions)
		}
	}
	return nil
}

func fitsScore(b Batch) error {
	if b.Temperature != nil && len(b.Temperature) != len(b.Score) {
		return fmt.Errorf("model: %d temperatures for %d scored tokens", len(b.Temperature), len(b.Score))
	}
	sequence, last := 0, -1
	for i, t := range b.Score {
		if int(t) <= last || int(t) >= len(b.Tokens) {
			return fmt.Errorf("model: score %d is token %d of %d; it must be above the one before, %d", i, t, len(b.Tokens), last)
		}
		for b.Starts[sequence+1] <= t {
			sequence++
		}
		if t == b.Starts[sequence] {
			return fmt.Errorf("model: score %d is token %d, the first of sequence %d; nothing predicts it", i, t, sequence)
		}
		if b.Temperature != nil && !(b.Temperature[i] >= minTemperature && b.Temperature[i] <= 1/minTemperature) {
			return fmt.Errorf("model: temperature %d is %g; it must be between %g and %g",
				i, b.Temperature[i], minTemperature, 1/minTemperature)
		}
		last = int(t)
	}
	return nil
}

// minTemperature keeps tempered logits finite; its inverse is the highest temperature.
const minTemperature = 1e-4
