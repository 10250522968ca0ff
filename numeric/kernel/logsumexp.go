package kernel

// LogSumExp is a running log-sum-exp and entropy of a row of logits that arrives in chunks. The result depends on where
// the chunks are cut, so both sides of a comparison must cut alike. Make it with NewLogSumExp.
type LogSumExp struct {
	max float32 // largest logit so far
	sum float32 // sum of exp(x-max)
	dot float32 // sum of exp(x-max)*(x-max)
}

// NewLogSumExp returns the state before the first chunk.
func NewLogSumExp() LogSumExp { return LogSumExp{max: negInf} }

// Add takes the next chunk of logits.
func (s *LogSumExp) Add(x []float32) {
	top := larger(Max(x), s.max)
	shift := top
	if top == negInf {
		shift = 0 // nothing but -Inf so far: every term is exp(-Inf)
	}
	sum, dot := expSums(x, shift)
	if s.max != top && s.max != negInf {
		down := s.max - top
		keep := exp32(down)
		s.dot = float32(float32(s.dot+float32(down*s.sum)) * keep)
		s.sum = float32(s.sum * keep)
	}
	s.max, s.sum, s.dot = top, s.sum+sum, s.dot+dot
}

// Value returns log(sum exp x) in nats.
func (s *LogSumExp) Value() float32 { return s.max + Log(s.sum) }

// Entropy returns the entropy of softmax(x) in nats: log(sum) - dot/sum.
func (s *LogSumExp) Entropy() float32 { return Log(s.sum) - s.dot/s.sum }

// expSumsPlain returns the sums of exp(t) and exp(t)*t over t = x-shift.
func expSumsPlain(x []float32, shift float32) (sum, dot float32) {
	var ls, ld lanes
	for i, v := range x {
		t := larger(expLow, v-shift) // keeps exp(-Inf)*-Inf at zero
		e := exp32(t)
		ls[i%Lanes] += e
		ld[i%Lanes] = fma32(e, t, ld[i%Lanes])
	}
	return ls.sum(), ld.sum()
}

// LogSumExpBackward replaces logits x by gradient, given those of logp = x[target]-lse and of the entropy: with
// p = exp(x-lse), x becomes -scale * p * (dLogp + dEntropy*(x-lse+entropy)). The caller adds scale*dLogp at the target.
// A temperature enters as x = logits/T and scale = 1/T.
func LogSumExpBackward(x []float32, lse, entropy, dLogp, dEntropy, scale float32) {
	logSumExpBackward(x, lse, entropy, dLogp, dEntropy, scale)
}

func logSumExpBackwardPlain(x []float32, lse, entropy, dLogp, dEntropy, scale float32) {
	for i, v := range x {
		t := larger(expLow, v-lse)
		g := dLogp + float32(dEntropy*float32(t+entropy))
		x[i] = float32(exp32(t)*g) * -scale
	}
}
