package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

// loss is a weighted sum of all lanes: its gradient exercises every path at once.
type loss struct {
	batch                   Batch
	dLogp, dEntropy, dValue []float32
}

func newLoss(rng *rand.Rand, c Config, lengths ...int) loss {
	l := loss{batch: randomBatch(rng, c, lengths...)}
	n := len(l.batch.Score)
	l.dLogp, l.dEntropy = randomLane(rng, n), randomLane(rng, n)
	if c.ValueHead {
		l.dValue = randomLane(rng, n)
	}
	return l
}

func (l loss) want(c Config) Want { return Want{Entropy: true, Value: c.ValueHead, Grad: true} }

// lanes are the reference's scores in the order of the batch.
func (l loss) lanes(r *reference) lanes {
	var all lanes
	b, next := l.batch, 0
	for i, lo := range b.Starts[:len(b.Starts)-1] {
		temperature := map[int]float64{}
		var scored []int
		for next < len(b.Score) && b.Score[next] < b.Starts[i+1] {
			t := int(b.Score[next] - lo)
			scored, temperature[t] = append(scored, t), float64(b.Temperature[next])
			next++
		}
		out := r.run(b.Tokens[lo:b.Starts[i+1]], func(t int) float64 {
			if v, ok := temperature[t]; ok {
				return v
			}
			return 1
		})
		for _, t := range scored {
			all.logp = append(all.logp, out.logp[t-1])
			all.entropy = append(all.entropy, out.entropy[t-1])
			if r.c.ValueHead {
				all.value = append(all.value, out.value[t-1])
			}
		}
	}
	return all
}

func (l loss) value(r *reference) float64 {
	out, sum := l.lanes(r), 0.0
	for i := range out.logp {
		sum += out.logp[i]*float64(l.dLogp[i]) + out.entropy[i]*float64(l.dEntropy[i])
		if l.dValue != nil {
			sum += out.value[i] * float64(l.dValue[i])
		}
	}
	return sum
}

func TestLanesAreTheReferences(t *testing.T) {
	eachShape(t, func(t *testing.T, c Config) {
		m := newModel(t, c, 1)
		l := newLoss(rand.New(rand.NewPCG(2, 3)), c, 2, 70, 9, 131)
		w := newWork(t, m, 1, Budget{Tokens: 256, Grad: true})
		p := m.Forward(w, l.batch, l.want(c))
		want := l.lanes(newReference(m))
		for i := range p.Logp {
			near(t, "logp", i, p.Logp[i], want.logp[i], 2e-5)
			near(t, "entropy", i, p.Entropy[i], want.entropy[i], 2e-5)
			if c.ValueHead {
				near(t, "value", i, p.Value[i], want.value[i], 2e-5)
			}
		}
	})
}

func near(t *testing.T, what string, i int, got float32, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= tolerance*(1+math.Abs(want))) {
		t.Errorf("%s[%d] = %g, reference %g", what, i, got, want)
	}
}

// The reference's gradient is the central difference of its own loss, good to about 1e-9.
func TestGradientsAreTheReferences(t *testing.T) {
	eachShape(t, func(t *testing.T, c Config) {
		m := newModel(t, c, 1)
		r := newReference(m)
		w := newWork(t, m, 1, Budget{Tokens: 64, Grad: true})
		short := newLoss(rand.New(rand.NewPCG(5, 3)), c, 2, 4, 12)
		long := newLoss(rand.New(rand.NewPCG(5, 4)), c, 60)
		for _, p := range short.gradients(t, w).Params() {
			sampleGradient(t, short, r, p, 20)
		}
		for _, p := range long.gradients(t, w).Params() {
			sampleGradient(t, long, r, p, 3)
		}
	})
}

func (l loss) gradients(t *testing.T, w *Work) *Grads {
	g := newGrads(t, w.c)
	l.addGradients(w, g)
	return g
}

func (l loss) addGradients(w *Work, g *Grads) {
	w.m.Forward(w, l.batch, l.want(w.c)).Backward(g, l.dLogp, l.dEntropy, l.dValue)
}

// sampleGradient compares about so many elements of one gradient, in the scale of the largest.
func sampleGradient(t *testing.T, l loss, r *reference, p Param, samples int) {
	largest := scale(p.Data)
	if largest == 0 {
		t.Errorf("the gradient of %s is zero", p.Name)
	}
	const h = 1e-5
	w := r.w[p.Name]
	for i := len(w) / samples / 2; i < len(w); i += 1 + len(w)/samples {
		old := w[i]
		w[i] = old + h
		up := l.value(r)
		w[i] = old - h
		down := l.value(r)
		w[i] = old
		want := (up - down) / (2 * h)
		if !(math.Abs(float64(p.Data[i])-want) <= 1e-5*largest+1e-6*math.Abs(want)) {
			t.Errorf("d loss / d %s[%d] = %g, reference %g (largest %g)", p.Name, i, p.Data[i], want, largest)
		}
	}
}

// scale is the largest magnitude.
func scale(x []float32) float64 {
	largest := 0.0
	for _, v := range x {
		largest = max(largest, math.Abs(float64(v)))
	}
	return largest
}

// A large batch goes through backward in many blocks, groups and chunks; its gradient is the sum of its sequences', which
// are small enough for one of each.
func TestGradientsAddUp(t *testing.T) {
	eachShape(t, func(t *testing.T, c Config) {
		m := newModel(t, c, 1)
		rng := rand.New(rand.NewPCG(6, 6))
		var lengths []int
		for range 45 {
			lengths = append(lengths, 2+rng.IntN(30))
		}
		all := newLoss(rng, c, lengths...)
		w := newWork(t, m, 3, Budget{Tokens: len(all.batch.Tokens), Grad: true})
		together, apart := all.gradients(t, w), newGrads(t, c)
		next := 0
		for i, lo := range all.batch.Starts[:len(lengths)] {
			one := loss{batch: all.batch.sequence(i, lo)}
			n := len(one.batch.Score)
			one.dLogp, one.dEntropy = all.dLogp[next:][:n], all.dEntropy[next:][:n]
			if c.ValueHead {
				one.dValue = all.dValue[next:][:n]
			}
			next += n
			one.addGradients(w, apart)
		}
		for i, p := range together.Params() {
			nearAll(t, p.Name, p.Data, apart.Params()[i].Data, 1e-5)
		}
	})
}
