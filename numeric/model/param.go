package model

import (
	"fmt"
	"strings"

	"molt/numeric/kernel"
)

// Param is one named tensor. Data is the storage itself: who writes a weight calls Model.Refresh afterwards.
type Param struct {
	Name  string // as in Hugging Face checkpoints: model.layers.0.self_attn.q_proj.weight
	Shape []int
	Data  []float32
	Decay bool // weight decay applies: true for matrices, false for norms and biases
}

// Grads holds one float for each parameter, in the order and shapes of Model.Params: gradients, or an optimizer's moments.
type Grads struct {
	views
	arena  *kernel.Arena
	flat   []float32
	params []Param
}

// NewGrads allocates zeros off the Go heap; Free gives them back.
func NewGrads(c Config) (*Grads, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	specs := layout(c)
	arena := kernel.NewArena(storage(specs))
	g := &Grads{arena: arena, flat: arena.Floats(storage(specs))}
	g.params = bind(specs, g.flat)
	g.views = view(c, specs, g.flat)
	return g, nil
}

// Params lists the tensors in Model.Params' order. The caller must not append to it.
func (g *Grads) Params() []Param { return g.params }

// Zero clears every element.
func (g *Grads) Zero() { clear(g.flat) }

// Free releases the memory; g must not be used afterwards.
func (g *Grads) Free() { g.arena.Free() }

// Layout lists the parameters of c in Model.Params' order, without their data.
func Layout(c Config) []Param {
	var params []Param
	for _, s := range layout(c) {
		params = append(params, Param{Name: s.name, Shape: s.shape, Decay: s.decays()})
	}
	return params
}

// spec places one parameter in the flat storage. Fused neighbours (q, k, v and gate, up) lie back to back, so that they
// are one matrix for a product; other parameters start on a cache line.
type spec struct {
	name   string
	shape  []int
	offset int
}

func (s spec) size() int {
	n := 1
	for _, d := range s.shape {
		n *= d
	}
	return n
}

// decays reports whether weight decay applies.
func (s spec) decays() bool { return len(s.shape) == 2 }

// isNorm reports whether it is the weight of an RMSNorm.
func (s spec) isNorm() bool { return strings.HasSuffix(s.name, "norm.weight") }

// storage is the number of floats behind specs, with the gaps.
func storage(specs []spec) int {
	last := specs[len(specs)-1]
	return pad(last.offset + last.size())
}

// layout lists the parameters of c in checkpoint order, except that a fused projection's weights come before its biases.
func layout(c Config) []spec {
	var specs []spec
	next := 0
	add := func(name string, shape ...int) {
		specs = append(specs, spec{name, shape, next})
		next += specs[len(specs)-1].size()
	}
	align := func() { next = pad(next) }
	add("model.embed_tokens.weight", c.Vocab, c.Dim)
	for l := range c.Layers {
		in := func(name string) string { return fmt.Sprintf("model.layers.%d.%s", l, name) }
		align()
		if c.Fused {
			add(in("self_attn.qkv_proj.weight"), c.qkv(), c.Dim)
		} else {
			add(in("self_attn.q_proj.weight"), c.qDim(), c.Dim)
			add(in("self_attn.k_proj.weight"), c.kvDim(), c.Dim)
			add(in("self_attn.v_proj.weight"), c.kvDim(), c.Dim)
		}
		align()
		if c.QKVBias {
			add(in("self_attn.q_proj.bias"), c.qDim())
			add(in("self_attn.k_proj.bias"), c.kvDim())
			add(in("self_attn.v_proj.bias"), c.kvDim())
			align()
		}
		add(in("self_attn.o_proj.weight"), c.Dim, c.qDim())
		align()
		if c.OBias {
			add(in("self_attn.o_proj.bias"), c.Dim)
		}
		if q, k := c.qkNorm(); q > 0 {
			add(in("self_attn.q_norm.weight"), q)
			align()
			add(in("self_attn.k_norm.weight"), k)
			align()
		}
		if c.Fused {
			add(in("mlp.gate_up_proj.weight"), c.gateUp(), c.Dim)
		} else {
			add(in("mlp.gate_proj.weight"), c.FFN, c.Dim)
			add(in("mlp.up_proj.weight"), c.FFN, c.Dim)
		}
		align()
		if c.MLPBias {
			add(in("mlp.gate_proj.bias"), c.FFN)
			add(in("mlp.up_proj.bias"), c.FFN)
			align()
		}
		add(in("mlp.down_proj.weight"), c.Dim, c.FFN)
		align()
		if c.MLPBias {
			add(in("mlp.down_proj.bias"), c.Dim)
		}
		for _, norm := range c.Norms.names() {
			add(in(norm+"_layernorm.weight"), c.Dim)
		}
	}
	add("model.norm.weight", c.Dim)
	if !c.Tied {
		add("lm_head.weight", c.Vocab, c.Dim)
	}
	if c.ValueHead {
		align()
		add("score.weight", 1, c.Dim)
	}
	return specs
}

// names are a layer's norms in the order of the residual stream.
func (n Norms) names() []string {
	switch n {
	case PostNorm:
		return []string{"post_attention", "post_feedforward"}
	case Sandwich:
		return []string{"input", "post_attention", "pre_feedforward", "post_feedforward"}
	}
	return []string{"input", "post_attention"}
}

// bind gives every spec its slice of flat.
func bind(specs []spec, flat []float32) []Param {
	params := make([]Param, len(specs))
	for i, s := range specs {
		end := s.offset + s.size()
		params[i] = Param{Name: s.name, Shape: s.shape, Data: flat[s.offset:end:end], Decay: s.decays()}
	}
	return params
}

// views are the tensors as the blocks use them, fused where a block runs one product. Absent ones are nil.
type views struct {
	embed  []float32 // [V, d]
	layers []layer
	norm   []float32 // [d]
	head   []float32 // [V, d]; embed when tied
	score  []float32 // [d]
}

type layer struct {
	qkv, qkvBias       []float32 // [(H+2G)hd, d], [(H+2G)hd]
	o, oBias           []float32 // [d, H hd], [d]
	qNorm, kNorm       []float32 // [hd], or [H hd] and [G hd]
	gateUp, gateUpBias []float32 // [2F, d], [2F]
	down, downBias     []float32 // [d, F], [d]
	norm1, norm2       []float32 // [d] before attention, before the MLP
	post1, post2       []float32 // [d] after attention, after the MLP
}

// view walks specs in layout's order.
func view(c Config, specs []spec, flat []float32) views {
	take := func(fused int) []float32 {
		start, last := specs[0].offset, specs[fused-1]
		specs = specs[fused:]
		end := last.offset + last.size()
		return flat[start:end:end]
	}
	optional := func(present bool, fused int) []float32 {
		if !present {
			return nil
		}
		return take(fused)
	}
	q, _ := c.qkNorm()
	pre, post := c.Norms != PostNorm, c.Norms != PreNorm
	inQKV, inGateUp := 3, 2
	if c.Fused {
		inQKV, inGateUp = 1, 1
	}
	var v views
	v.embed = take(1)
	for range c.Layers {
		v.layers = append(v.layers, layer{
			qkv: take(inQKV), qkvBias: optional(c.QKVBias, 3),
			o: take(1), oBias: optional(c.OBias, 1),
			qNorm: optional(q > 0, 1), kNorm: optional(q > 0, 1),
			gateUp: take(inGateUp), gateUpBias: optional(c.MLPBias, 2),
			down: take(1), downBias: optional(c.MLPBias, 1),
			norm1: optional(pre, 1), post1: optional(post, 1),
			norm2: optional(pre, 1), post2: optional(post, 1),
		})
	}
	v.norm = take(1)
	v.head = v.embed
	if !c.Tied {
		v.head = take(1)
	}
	v.score = optional(c.ValueHead, 1)
	return v
}
