// How a batch is cut: mini-batches (one optimizer step each), and micro-batches (one forward pass each).

package train

import (
	"molt/algo"
	"molt/engine"
)

// miniBatch is what one optimizer step trains on.
type miniBatch struct {
	segments []*Segment
	size     algo.StepSize
}

// miniBatches splits the batch into runs of size rollouts, the last one perhaps smaller; 0 makes one of all. A rollout's
// segments stay together and nothing is dropped to make counts divide.
func (b *batch) miniBatches(size int) []miniBatch {
	if size == 0 {
		size = len(b.rollouts)
	}
	var minis []miniBatch
	for i, r := range b.rollouts {
		if i%size == 0 {
			minis = append(minis, miniBatch{})
		}
		mini := &minis[len(minis)-1]
		mini.segments = append(mini.segments, r.segments...)
		mini.size.Rollouts++
		mini.size.Tokens += int(r.actions)
	}
	return minis
}

// micro is one forward pass over some segments.
type micro struct {
	batch    engine.Batch
	segments []*Segment
	starts   []int32 // [len(segments)+1] segment i's action tokens are lanes starts[i]:starts[i+1] of the pass
}

// pack puts whole segments into as few passes of at most maxTokens as first fit finds.
func pack(segments []*Segment, maxTokens int) []micro {
	lengths := make([]int, len(segments))
	for i, s := range segments {
		lengths[i] = len(s.Layout.Tokens)
	}
	var micros []micro
	for _, bin := range algo.Pack(lengths, maxTokens) {
		m := micro{starts: []int32{0}, batch: engine.Batch{Starts: []int32{0}}}
		for _, i := range bin {
			m.append(segments[i])
		}
		micros = append(micros, m)
	}
	return micros
}

func (m *micro) append(s *Segment) {
	at := int32(len(m.batch.Tokens))
	for _, t := range s.score {
		m.batch.Score = append(m.batch.Score, at+t)
	}
	m.batch.Tokens = append(m.batch.Tokens, s.Layout.Tokens...)
	m.batch.Temperature = append(m.batch.Temperature, s.temp...)
	m.batch.Starts = append(m.batch.Starts, int32(len(m.batch.Tokens)))
	m.segments = append(m.segments, s)
	m.starts = append(m.starts, int32(len(m.batch.Score)))
}

// tokens gathers what the losses read for the pass's action tokens. The lanes of the pass are valid until it ends.
func (m *micro) tokens(pass engine.Pass) algo.Tokens {
	in := algo.Tokens{LogpNew: pass.Logp(), Entropy: pass.Entropy(), Value: pass.Value(), Starts: m.starts}
	for _, s := range m.segments {
		in.Advantage = append(in.Advantage, s.Advantage...)
		in.Return = append(in.Return, s.Return...)
		in.LogpGen = append(in.LogpGen, s.LogpGen...)
		in.LogpOld = append(in.LogpOld, s.LogpOld...)
		in.LogpRef = append(in.LogpRef, s.LogpRef...)
		in.ValueOld = append(in.ValueOld, s.ValueOld...)
		in.Lag = append(in.Lag, s.Lag...)
		in.RolloutTokens = append(in.RolloutTokens, s.of.actions)
	}
	return in
}

// record keeps in each segment what its pass found.
func (m *micro) record(in algo.Tokens, dLogp []float32, cfg algo.LossConfig, denominator float64) {
	losses := make([]float64, len(dLogp))
	algo.TokenLosses(losses, in, cfg)
	for i, s := range m.segments {
		lo, hi := m.starts[i], m.starts[i+1]
		if s.LogpNew == nil {
			s.LogpNew = append(s.LogpNew, in.LogpNew[lo:hi]...)
			s.Loss = make([]float32, hi-lo)
		}
		s.Weight = append(s.Weight[:0], in.Weight[lo:hi]...)
		s.Gradient = append(s.Gradient[:0], dLogp[lo:hi]...)
		for k, loss := range losses[lo:hi] {
			s.Loss[k] += float32(loss / denominator)
		}
	}
}
