package local

import (
	"fmt"
	"slices"

	"molt/engine"
	"molt/numeric/kernel"
	"molt/numeric/model"
	"molt/weights"
)

// held is a model and the weights that it was given: a base and, where there is one, an adapter over it.
type held struct {
	*model.Model
	params []model.Param // what weights give: all parameters but those of a value head with an optimizer of its own
	base   string        // fingerprint of the base
	adapt  *adaptation   // nil without an adapter
	copied func()        // called once, as soon as the first weights are copied; may be nil
}

func hold(m *model.Model, params []model.Param, config Config) held {
	return held{Model: m, params: params, copied: config.Copied}
}

// check reports everything about w that keeps the model from holding it. A base that it holds already is not read again; the
// base that a model starts with is vouched for by whoever made its fingerprint from it.
func (h *held) check(w engine.Weights) error {
	starts := h.base == ""
	if h.Model == nil {
		return errClosed
	}
	if w.Adapter == nil {
		return checkWeights(h.params, w, starts)
	}
	if a := w.Adapter; a.Base != h.base {
		if err := checkWeights(h.params, engine.Weights{Tensors: w.Tensors, Fingerprint: a.Base}, starts); err != nil {
			return fmt.Errorf("the adapter's base: %w", err)
		}
	}
	return checkAdapter(specs(h.params), w)
}

// checkAdapter reports what is wrong with the adapter of w, over a base that has been checked.
func checkAdapter(base []weights.Spec, w engine.Weights) error {
	a := peft(w.Adapter)
	if err := a.Check(base); err != nil {
		return err
	}
	if f := a.Fingerprint(w.Adapter.Base); f != w.Fingerprint {
		return fmt.Errorf("the fingerprint says %q, base and adapter %q", w.Fingerprint, f)
	}
	return nil
}

// set makes the model hold w, which has been checked.
func (h *held) set(w engine.Weights, pool *kernel.Pool) {
	if w.Adapter == nil {
		h.setBase(w, w.Fingerprint, pool)
		return
	}
	if w.Adapter.Base != h.base {
		h.setBase(w, w.Adapter.Base, pool)
	}
	if h.adapt != nil && !h.adapt.fits(w.Adapter) {
		h.adapt.remove()
		h.adapt = nil
	}
	if h.adapt == nil {
		h.adapt = newAdaptation(h.params, w.Adapter, pool.Threads())
	}
	h.adapt.set(w.Adapter, pool)
	h.Refresh(pool)
}

func (h *held) setBase(w engine.Weights, fingerprint string, pool *kernel.Pool) {
	h.adapt.free()
	h.adapt = nil
	h.copy(w)
	h.Refresh(pool)
	h.base = fingerprint
}

// copy copies the base, and says so before Refresh fills the room for products: w need not be in memory beside that.
func (h *held) copy(w engine.Weights) {
	copyWeights(h.Model, w)
	if h.copied != nil {
		h.copied()
		h.copied = nil
	}
}

func (h *held) free() {
	h.adapt.free()
	h.Free()
}

// baseTensors lists the weights without the adapter.
func (h *held) baseTensors() []engine.Tensor {
	list := tensors(h.params)
	if h.adapt == nil {
		return list
	}
	for _, m := range h.adapt.matrices {
		i := slices.IndexFunc(list, func(t engine.Tensor) bool { return t.Name == m.name+".weight" })
		list[i].Data = m.base
	}
	return list
}

// Adapt puts an adapter that was read from a folder on w, which has none. The data is shared with both.
func Adapt(w engine.Weights, a weights.Adapter) (engine.Weights, error) {
	if a.Base != "" && a.Base != w.Fingerprint {
		return w, fmt.Errorf("local: the adapter was trained on weights with fingerprint %.12s…, and these have %.12s…", a.Base, w.Fingerprint)
	}
	base := make([]weights.Spec, len(w.Tensors))
	for i, t := range w.Tensors {
		base[i] = weights.Spec{Name: t.Name, Shape: t.Shape}
	}
	w.Adapter = &engine.Adapter{Base: w.Fingerprint, Rank: a.Rank, Alpha: a.Alpha, RSLoRA: a.RSLoRA}
	for _, t := range a.Tensors {
		w.Adapter.Tensors = append(w.Adapter.Tensors, engine.Tensor(t))
	}
	w.Fingerprint = a.Fingerprint(w.Fingerprint)
	if err := checkAdapter(base, w); err != nil {
		return w, fmt.Errorf("local: putting an adapter on weights: %w", err)
	}
	return w, nil
}

// PEFT is the adapter of w as package weights writes it. The data is shared.
func PEFT(w engine.Weights) weights.Adapter {
	a := peft(w.Adapter)
	a.Step = int64(w.Version)
	return a
}

func peft(a *engine.Adapter) weights.Adapter {
	out := weights.Adapter{Rank: a.Rank, Alpha: a.Alpha, RSLoRA: a.RSLoRA, Base: a.Base}
	for _, t := range a.Tensors {
		out.Tensors = append(out.Tensors, weights.Tensor(t))
	}
	return out
}

// Merge makes one of base and adapter: weights without one that compute the same, bit for bit. What the adapter does not
// change is shared with w; w without an adapter comes back as it is.
func Merge(w engine.Weights) engine.Weights {
	if w.Adapter == nil {
		return w
	}
	params := make([]model.Param, len(w.Tensors))
	for i, t := range w.Tensors {
		params[i] = model.Param{Name: t.Name, Shape: t.Shape, Data: t.Data}
	}
	for _, name := range adaptedNames(w.Adapter) {
		p := matrix(params, name)
		p.Data = slices.Clone(p.Data)
	}
	pool := kernel.NewPool(1)
	defer pool.Close()
	t := newAdaptation(params, w.Adapter, pool.Threads())
	defer t.free()
	t.set(w.Adapter, pool)
	w.Adapter, w.Tensors = nil, tensors(params)
	w.Fingerprint = fingerprint(w.Tensors)
	return w
}
