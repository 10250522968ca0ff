package local

import (
	"fmt"
	"slices"

	"molt/engine"
	"molt/numeric/kernel"
	"molt/numeric/model"
)

// adaptation keeps an adapter apart from the weights that it changes. The model computes with the product,
//
//	W = W0 + s B A
//
// so generation, training and every kernel are what they are without an adapter, and two models that hold the same base and
// the same factors hold the same W, bit for bit. What the loss says about W says it about the factors (adaptation.project).
type adaptation struct {
	how      engine.Adapter // without its tensors
	arena    *kernel.Arena
	matrices []adapted
	strips   []strip
	room     [][]float32 // of each thread: rows of B A
	packed   []float32   // Aᵀ
}

// adapted is one matrix W [out, in].
type adapted struct {
	name    string
	out, in int
	w, base []float32 // the model's, and as it was: taking the adapter off again gives the same bits
	a, b    []float32 // [rank, in], [out, rank]
	dw      []float32 // of a learner: the gradients
	da, db  []float32
}

// strip is a part of a matrix for one thread: rows from lo.
type strip struct{ matrix, lo int }

const mergeRows = 32

// newAdaptation makes room for adapters with the factors of a over params, which hold the base, and keeps a copy of what
// they change.
func newAdaptation(params []model.Param, a *engine.Adapter, threads int) *adaptation {
	return adaptationOf(params, nil, nil, a, threads)
}

// adaptationOf is newAdaptation of a learner: it can be trained, and keeps the given base itself, which must not change.
func adaptationOf(params, grads []model.Param, base []engine.Tensor, a *engine.Adapter, threads int) *adaptation {
	names := adaptedNames(a)
	t := &adaptation{how: *a, arena: kernel.NewArena(adaptationFloats(params, names, a.Rank, threads, grads != nil))}
	t.how.Tensors = nil
	given := map[string][]float32{}
	for _, b := range base {
		given[b.Name] = b.Data
	}
	widest := 0
	for i, name := range names {
		p := matrix(params, name)
		m := adapted{name: name, out: p.Shape[0], in: p.Shape[1], w: p.Data}
		m.base, m.a, m.b = given[p.Name], t.arena.Floats(a.Rank*m.in), t.arena.Floats(m.out*a.Rank)
		if base == nil {
			m.base = t.arena.Floats(m.out * m.in)
			copy(m.base, m.w)
		}
		if grads != nil {
			m.dw, m.da, m.db = matrix(grads, name).Data, t.arena.Floats(a.Rank*m.in), t.arena.Floats(m.out*a.Rank)
		}
		for lo := 0; lo < m.out; lo += mergeRows {
			t.strips = append(t.strips, strip{i, lo})
		}
		t.matrices = append(t.matrices, m)
		widest = max(widest, m.in)
	}
	for range threads {
		t.room = append(t.room, t.arena.Floats(mergeRows*widest))
	}
	if grads != nil {
		t.packed = t.arena.Floats(kernel.PackedLen(widest, a.Rank))
	}
	return t
}

// adaptationFloats is the room that they take, the latter with grads.
func adaptationFloats(params []model.Param, names []string, rank, threads int, grads bool) int {
	pad := func(n int) int { return (n + kernel.Lanes - 1) / kernel.Lanes * kernel.Lanes }
	floats, widest := 0, 0
	for _, name := range names {
		shape := matrix(params, name).Shape
		factors := pad(rank*shape[1]) + pad(shape[0]*rank)
		if grads {
			floats += 2 * factors
		} else {
			floats += pad(shape[0]*shape[1]) + factors
		}
		widest = max(widest, shape[1])
	}
	floats += threads * pad(mergeRows*widest)
	if grads {
		floats += pad(kernel.PackedLen(widest, rank))
	}
	return floats
}

// adaptedNames lists the matrices that a changes.
func adaptedNames(a *engine.Adapter) []string { return peft(a).Adapted() }

// fits reports whether a is an adapter that t has room for.
func (t *adaptation) fits(a *engine.Adapter) bool {
	return t.how.Rank == a.Rank && slices.EqualFunc(t.matrices, adaptedNames(a), func(m adapted, name string) bool { return m.name == name })
}

// set takes checked factors over, and makes the model's matrices those with the adapter.
func (t *adaptation) set(a *engine.Adapter, pool *kernel.Pool) {
	given := map[string][]float32{}
	for _, f := range a.Tensors {
		given[f.Name] = f.Data
	}
	for _, f := range t.factors() {
		copy(f.Data, given[f.Name])
	}
	t.how = *a
	t.how.Tensors = nil
	t.merge(pool)
}

// factors lists the factors, in the order of the adapter's tensors. The data is t's own.
func (t *adaptation) factors() []engine.Tensor {
	var list []engine.Tensor
	for _, m := range t.matrices {
		list = append(list,
			engine.Tensor{Name: m.name + engine.FactorA, Shape: []int{t.how.Rank, m.in}, Data: m.a},
			engine.Tensor{Name: m.name + engine.FactorB, Shape: []int{m.out, t.how.Rank}, Data: m.b})
	}
	return list
}

// gradients lists the factors' gradients in the order of factors.
func (t *adaptation) gradients() [][]float32 {
	var list [][]float32
	for _, m := range t.matrices {
		list = append(list, m.da, m.db)
	}
	return list
}

// adapter is what t holds now.
func (t *adaptation) adapter() *engine.Adapter {
	a := t.how
	a.Tensors = t.factors()
	return &a
}

// String says what besides the factors decides what the adapter does.
func (t *adaptation) String() string {
	return fmt.Sprintf("rank %d, alpha %g, rslora %t", t.how.Rank, t.how.Alpha, t.how.RSLoRA)
}

// scale is s, as everything multiplies by it.
func (t *adaptation) scale() float32 { return float32(t.how.Scale()) }

// merge makes the model's matrices those with the adapter. The model wants a Refresh afterwards.
func (t *adaptation) merge(pool *kernel.Pool) { pool.Run(len(t.strips), (*merging)(t)) }

// merging is merge as a task over strips.
type merging adaptation

func (t *merging) Do(item, worker int) {
	s := t.strips[item]
	m, rank := &t.matrices[s.matrix], t.how.Rank
	rows := min(mergeRows, m.out-s.lo)
	delta := t.room[worker][:rows*m.in]
	kernel.Gemm(delta, m.in, m.b[s.lo*rank:], rank, 1, kernel.RowMajor(m.a, m.in), rows, m.in, rank, false)
	w := m.w[s.lo*m.in:][:rows*m.in]
	copy(w, m.base[s.lo*m.in:])
	kernel.Axpy(w, (*adaptation)(t).scale(), delta)
}

// project continues the chain rule from the matrices' gradients to the factors': dA = s Bᵀ dW, dB = s dW Aᵀ.
func (t *adaptation) project(pool *kernel.Pool) {
	rank := t.how.Rank
	for i := range t.matrices {
		m := &t.matrices[i]
		pool.Gemm(m.da, m.in, m.b, 1, rank, kernel.RowMajor(m.dw, m.in), rank, m.in, m.out, false)
		kernel.PackT(t.packed, m.a, m.in, rank, m.in)
		pool.Gemm(m.db, rank, m.dw, m.in, 1, kernel.Packed(t.packed, m.in), m.out, rank, m.in, false)
		kernel.Scale(m.da, t.scale())
		kernel.Scale(m.db, t.scale())
	}
}

// remove makes the model's matrices those of the base again.
func (t *adaptation) remove() {
	for _, m := range t.matrices {
		copy(m.w, m.base)
	}
	t.arena.Free()
}

func (t *adaptation) free() {
	if t != nil {
		t.arena.Free()
	}
}
