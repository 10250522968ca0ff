package local

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"molt/engine"
	"molt/numeric/model"
	"molt/numeric/optim"
	"molt/weights"
)

// LoRA trains an adapter instead of the weights (see engine.Adapter).
type LoRA struct {
	Rank    int      // width of the factors; 0 trains the weights themselves
	Alpha   float64  // over Rank, the factor of the update, > 0
	RSLoRA  bool     // over the root of Rank instead
	Targets []string // of weights.Projections, ends of paths, or weights.AllLinear
	Seed    uint64   // of the first factors
}

// names lists the matrices that an adapter changes, in the order of the layout.
func (c LoRA) names(layout []model.Param) ([]string, error) {
	if c.Rank < 1 {
		return nil, fmt.Errorf("local: LoRA.Rank is %d; it must be above 0, or 0 for none", c.Rank)
	}
	if !(c.Alpha > 0 && c.Alpha <= math.MaxFloat32) {
		return nil, fmt.Errorf("local: LoRA.Alpha is %g; it must be above 0", c.Alpha)
	}
	names, err := weights.Targets(specs(layout), c.Targets)
	if err != nil {
		return nil, fmt.Errorf("local: LoRA.Targets: %w", err)
	}
	return names, c.fits(layout, names)
}

// fits refuses a rank above that of every matrix: the factors would hold more numbers than the weights, to say the same.
func (c LoRA) fits(layout []model.Param, names []string) error {
	var widest *model.Param
	most := 0
	for _, name := range names {
		p := matrix(layout, name)
		if rank := min(p.Shape[0], p.Shape[1]); rank > most {
			widest, most = p, rank
		}
	}
	if c.Rank <= most {
		return nil
	}
	return fmt.Errorf("local: LoRA.Rank is %d and no adapted matrix has a rank above %d, which is that of %s [%d, %d]; choose at most that, or 0 to train the weights",
		c.Rank, most, widest.Name, widest.Shape[0], widest.Shape[1])
}

// fresh makes the adapter that training starts from, as PEFT does: A Kaiming-uniform with a = sqrt(5), which is uniform
// within 1/sqrt(in), and B zero, so that it changes nothing yet. An element depends on seed, its tensor's name and its
// index only.
func (c LoRA) fresh(layout []model.Param, base string) (*engine.Adapter, error) {
	names, err := c.names(layout)
	if err != nil {
		return nil, err
	}
	a := &engine.Adapter{Base: base, Rank: c.Rank, Alpha: c.Alpha, RSLoRA: c.RSLoRA}
	for _, name := range names {
		p := matrix(layout, name)
		out, in := p.Shape[0], p.Shape[1]
		a.Tensors = append(a.Tensors,
			engine.Tensor{Name: name + engine.FactorA, Shape: []int{c.Rank, in}, Data: uniformly(c.Rank*in, c.Seed, name+engine.FactorA, 1/math.Sqrt(float64(in)))},
			engine.Tensor{Name: name + engine.FactorB, Shape: []int{out, c.Rank}, Data: make([]float32, out*c.Rank)})
	}
	return a, nil
}

// uniformly draws n numbers from -bound to bound.
func uniformly(n int, seed uint64, name string, bound float64) []float32 {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	key := mix(seed ^ hash.Sum64())
	x := make([]float32, n)
	for i := range x {
		x[i] = float32((2*float64(mix(key+uint64(i))>>11)*0x1p-53 - 1) * bound)
	}
	return x
}

// matches reports why training as c says cannot go on from a.
func (c LoRA) matches(a *engine.Adapter, layout []model.Param) error {
	names, err := c.names(layout)
	if err != nil {
		return err
	}
	if a.Rank != c.Rank || a.Alpha != c.Alpha || a.RSLoRA != c.RSLoRA {
		return fmt.Errorf("local: the adapter has rank %d, alpha %g, rslora %t; LoRA wants %d, %g, %t", a.Rank, a.Alpha, a.RSLoRA, c.Rank, c.Alpha, c.RSLoRA)
	}
	have := map[string]bool{}
	for _, t := range a.Tensors {
		have[t.Name] = true
	}
	for _, name := range names {
		if !have[name+engine.FactorA] {
			return fmt.Errorf("local: the adapter does not change %s.weight, which LoRA.Targets choose", name)
		}
	}
	if len(have) != 2*len(names) {
		return fmt.Errorf("local: the adapter changes %d matrices and LoRA.Targets choose %d", len(have)/2, len(names))
	}
	return nil
}

// headName is the value head's tensor.
const headName = "score.weight"

// given are the parameters that weights give.
func (c Config) given(params []model.Param) []model.Param {
	return slices.DeleteFunc(slices.Clone(params), func(p model.Param) bool { return c.Head != nil && p.Name == headName })
}

// trains splits what is trained between the two optimizers; head is nil where there is one. Only names and shapes count:
// the learner fills in the data.
func (c Config) trains(shape model.Config) (params, head []optim.Param, err error) {
	layout := model.Layout(shape)
	for _, p := range layout {
		one := optim.Param{Name: p.Name, Shape: p.Shape, Decay: p.Decay}
		switch {
		case c.Head != nil && p.Name == headName:
			head = append(head, one)
		case c.LoRA.Rank == 0:
			params = append(params, one)
		}
	}
	if c.Head != nil && head == nil {
		return nil, nil, errors.New("local: Head is set and the model has no value head")
	}
	if c.LoRA.Rank == 0 {
		return params, head, nil
	}
	if shape.ValueHead && c.Head == nil {
		return nil, nil, errors.New("local: a value head beside an adapter needs Head, an optimizer of its own")
	}
	names, err := c.LoRA.names(layout)
	for _, name := range names {
		p := matrix(layout, name)
		params = append(params,
			optim.Param{Name: name + engine.FactorA, Shape: []int{c.LoRA.Rank, p.Shape[1]}, Decay: true},
			optim.Param{Name: name + engine.FactorB, Shape: []int{p.Shape[0], c.LoRA.Rank}, Decay: true})
	}
	return params, head, err
}

// matrix finds NAME.weight.
func matrix(params []model.Param, name string) *model.Param {
	for i := range params {
		if params[i].Name == name+".weight" {
			return &params[i]
		}
	}
	panic("local: no matrix " + name)
}

// specs are parameters as package weights describes them.
func specs(params []model.Param) []weights.Spec {
	list := make([]weights.Spec, len(params))
	for i, p := range params {
		list[i] = weights.Spec{Name: p.Name, Shape: p.Shape}
	}
	return list
}
