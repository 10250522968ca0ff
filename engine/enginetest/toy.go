// The toy model of the scripted engine: a bigram table. The logits of the next id are the row of the id before it, and
// the value of a prefix belongs to its last id. It is small enough to check by hand and really learns.

package enginetest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"molt/engine"
	"molt/traj"
)

const (
	tableName = "toy.table.weight" // [V,V]
	valueName = "toy.value.weight" // [V]
)

// toy is a version of the weights. What it points to is never changed while it is served.
type toy struct {
	vocab           int
	version, parent traj.Version
	fingerprint     string
	table, value    []float32 // [V,V], [V]
}

func newToy(vocab int, seed uint64) toy {
	w := toy{vocab: vocab, table: make([]float32, vocab*vocab), value: make([]float32, vocab)}
	for i := range w.table {
		w.table[i] = float32(3 * uniform(engine.Key{Seed: seed}, i))
	}
	for i := range w.value {
		w.value[i] = float32(uniform(engine.Key{Seed: seed, Turn: 1}, i))
	}
	w.fingerprint = Fingerprint(engine.Weights{Tensors: w.tensors()})
	return w
}

func (w toy) tensors() []engine.Tensor {
	return []engine.Tensor{
		{Name: tableName, Shape: []int{w.vocab, w.vocab}, Data: w.table},
		{Name: valueName, Shape: []int{w.vocab}, Data: w.value},
	}
}

// toyFrom copies published weights, if they are those of a toy.
func toyFrom(w engine.Weights, vocab int) (toy, error) {
	if w.Adapter != nil {
		return toy{}, fmt.Errorf("an adapter; a toy has no use for it")
	}
	t := toy{vocab: vocab, version: w.Version, parent: w.Parent, fingerprint: w.Fingerprint}
	if want := t.tensors(); len(w.Tensors) != len(want) {
		return t, fmt.Errorf("%d tensors; a toy has %d", len(w.Tensors), len(want))
	}
	for i, want := range t.tensors() {
		got := w.Tensors[i]
		if got.Name != want.Name || !slices.Equal(got.Shape, want.Shape) || len(got.Data) != elements(want.Shape) {
			return t, fmt.Errorf("tensor %q of shape %v with %d numbers; want %q of shape %v", got.Name, got.Shape, len(got.Data), want.Name, want.Shape)
		}
	}
	if f := Fingerprint(w); f != w.Fingerprint {
		return t, fmt.Errorf("the fingerprint says %q, the bytes %q", w.Fingerprint, f)
	}
	t.table, t.value = slices.Clone(w.Tensors[0].Data), slices.Clone(w.Tensors[1].Data)
	return t, nil
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Fingerprint is how the scripted engine fingerprints weights: SHA-256 over names, shapes and bytes.
func Fingerprint(w engine.Weights) string {
	h := sha256.New()
	for _, t := range w.Tensors {
		fmt.Fprintf(h, "%q %v\n", t.Name, t.Shape)
		binary.Write(h, binary.LittleEndian, t.Data) // a hash never fails
	}
	return fmt.Sprintf("toy:%x", h.Sum(nil)[:8])
}

func (w toy) logits(previous int32) []float32 {
	return w.table[int(previous)*w.vocab : (int(previous)+1)*w.vocab]
}

// logProbs is log softmax(logits / temperature), [V] nats.
func logProbs(logits []float32, temperature float32) []float32 {
	largest := math.Inf(-1)
	for _, z := range logits {
		largest = max(largest, float64(z)/float64(temperature))
	}
	var total float64
	for _, z := range logits {
		total += math.Exp(float64(z)/float64(temperature) - largest)
	}
	logp := make([]float32, len(logits))
	for i, z := range logits {
		logp[i] = float32(float64(z)/float64(temperature) - largest - math.Log(total))
	}
	return logp
}

// choose samples by inverting the cumulative distribution of the kept ids, in order of id.
func choose(logits []float32, o engine.Sampling, u float64) int32 {
	order := make([]int32, len(logits)) // likeliest first, the lowest id first among equals
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return 0
	})
	if o.Temperature == 0 {
		return order[0]
	}
	logp := logProbs(logits, o.Temperature)
	kept := order[:keep(logp, order, o)]
	slices.Sort(kept)
	var total float64
	for _, id := range kept {
		total += math.Exp(float64(logp[id]))
	}
	for _, id := range kept {
		if u -= math.Exp(float64(logp[id])) / total; u < 0 {
			return id
		}
	}
	return kept[len(kept)-1]
}

// keep counts how many of the ids in order every filter keeps.
func keep(logp []float32, order []int32, o engine.Sampling) int {
	var mass float64
	for n, id := range order {
		p := math.Exp(float64(logp[id]))
		if n > 0 && (n == o.TopK || o.TopP > 0 && mass >= float64(o.TopP) || p < float64(o.MinP)*math.Exp(float64(logp[order[0]]))) {
			return n
		}
		mass += p
	}
	return len(order)
}

// uniform draws from [0, 1) as a function of the key and the position: SplitMix64's finaliser, absorbing word by word.
func uniform(k engine.Key, position int) float64 {
	var x uint64
	for _, word := range []uint64{k.Seed, uint64(k.Group), uint64(k.Sample), uint64(k.Turn), uint64(position)} {
		x = (x ^ word) + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return float64(x>>11) / (1 << 53)
}
