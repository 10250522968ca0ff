package model

import "molt/numeric/kernel"

// Model is a decoder's weights, with the copies that the products read. Extend and Forward only read it and may run at the
// same time, each on its own Work; Init, Refresh and the first Backward after a Refresh write, and must run alone.
type Model struct {
	views
	config Config
	arena  *kernel.Arena
	params []Param
	gains  []gain  // what norms multiply by, where it is not the weight
	ropes  [2]rope // by RopeTheta and by LocalTheta
	sights []sight // [Layers]

	products []products
	unembed  linear
	linears  []*linear // all of the above
	packs    *packing  // forward copies to make on Refresh

	backArena *kernel.Arena // nil until the first Backward: a model that only generates never has it
	backPacks *packBackward
	backFresh bool // the backward copies are those of the current weights
}

// products are a layer's projections.
type products struct{ qkv, o, gateUp, down linear }

// New allocates a decoder off the Go heap, all weights zero; Free gives it back.
func New(c Config) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	specs := layout(c)
	m := &Model{config: c, arena: kernel.NewArena(int(modelBytes(c) / 4))}
	flat := m.arena.Floats(storage(specs))
	m.params = bind(specs, flat)
	m.views = view(c, specs, flat)
	if c.NormPlusOne {
		m.addGains()
	}
	m.ropes[0] = newRope(c.RopeTheta, c.Scaling, c.rotary()/2, c.MaxPositions, m.arena.Floats)
	if c.localRope() {
		m.ropes[1] = newRope(c.LocalTheta, Scaling{}, c.rotary()/2, c.MaxPositions, m.arena.Floats)
	}
	for l := range c.Layers {
		m.sights = append(m.sights, c.sight(l))
	}
	m.link()
	packs := packing(packJobs(m.linears, func(p *linear) int { return p.out }))
	m.packs = &packs
	return m, nil
}

// link sets up the projections over the weights.
func (m *Model) link() {
	c := m.config
	add := func(p *linear, w []float32, out, in int) {
		*p = linear{w: w, in: in, out: out, forward: m.arena.Floats(kernel.PackedLen(in, out))}
		m.linears = append(m.linears, p)
	}
	m.products = make([]products, c.Layers)
	for l := range m.products {
		p, w := &m.products[l], &m.layers[l]
		add(&p.qkv, w.qkv, c.qkv(), c.Dim)
		add(&p.o, w.o, c.Dim, c.qDim())
		add(&p.gateUp, w.gateUp, c.gateUp(), c.Dim)
		add(&p.down, w.down, c.Dim, c.FFN)
	}
	add(&m.unembed, m.head, c.Vocab, c.Dim)
}

// gain is 1 + weight of a norm.
type gain struct{ gain, weight []float32 }

// addGains puts gains in the place of the norms' weights; Refresh computes them.
func (m *Model) addGains() {
	add := func(norm *[]float32) {
		if *norm != nil {
			m.gains = append(m.gains, gain{m.arena.Floats(len(*norm)), *norm})
			*norm = m.gains[len(m.gains)-1].gain
		}
	}
	for l := range m.layers {
		w := &m.layers[l]
		for _, norm := range []*[]float32{&w.norm1, &w.norm2, &w.post1, &w.post2, &w.qNorm, &w.kNorm} {
			add(norm)
		}
	}
	add(&m.norm)
}

// Config is the shape given to New.
func (m *Model) Config() Config { return m.config }

// Params lists the weights in checkpoint order. The caller must not append to it.
func (m *Model) Params() []Param { return m.params }

// Refresh makes the current weights the ones that Extend and Forward use: call it after Init, after loading, after each
// optimizer step. pool may be nil.
func (m *Model) Refresh(pool *kernel.Pool) {
	runAll(pool, len(*m.packs), m.packs)
	for _, g := range m.gains {
		for i, w := range g.weight {
			g.gain[i] = 1 + w
		}
	}
	m.backFresh = false
}

// refreshBackward makes the copies that Backward reads, once for each set of weights.
func (m *Model) refreshBackward(pool *kernel.Pool) {
	if m.backFresh {
		return
	}
	if m.backArena == nil {
		m.backArena = kernel.NewArena(int(backwardBytes(m.config) / 4))
		for _, p := range m.linears {
			p.backward = m.backArena.Floats(kernel.PackedLen(p.out, p.in))
		}
		packs := packBackward(packJobs(m.linears, func(p *linear) int { return p.in }))
		m.backPacks = &packs
	}
	runAll(pool, len(*m.backPacks), m.backPacks)
	m.backFresh = true
}

// Free releases the memory; m must not be used afterwards.
func (m *Model) Free() {
	m.arena.Free()
	if m.backArena != nil {
		m.backArena.Free()
	}
}

// ModelBytes is the memory of a model: weights and their forward copies, and the backward copies when it is trained.
func ModelBytes(c Config, grad bool) int64 {
	if grad {
		return modelBytes(c) + backwardBytes(c)
	}
	return modelBytes(c)
}

// GradsBytes is the memory of one Grads.
func GradsBytes(c Config) int64 { return 4 * int64(storage(layout(c))) }

func modelBytes(c Config) int64 {
	specs := layout(c)
	floats := storage(specs) + 2*pad(c.MaxPositions*c.rotary()/2)
	if c.localRope() {
		floats += 2 * pad(c.MaxPositions*c.rotary()/2)
	}
	for _, s := range specs {
		if c.NormPlusOne && s.isNorm() {
			floats += pad(s.size())
		}
	}
	floats += c.Layers*(kernel.PackedLen(c.Dim, c.qkv())+kernel.PackedLen(c.qDim(), c.Dim)+
		kernel.PackedLen(c.Dim, c.gateUp())+kernel.PackedLen(c.FFN, c.Dim)) + kernel.PackedLen(c.Dim, c.Vocab)
	return 4 * int64(floats)
}

func backwardBytes(c Config) int64 {
	floats := c.Layers*(kernel.PackedLen(c.qkv(), c.Dim)+kernel.PackedLen(c.Dim, c.qDim())+
		kernel.PackedLen(c.gateUp(), c.Dim)+kernel.PackedLen(c.Dim, c.FFN)) + kernel.PackedLen(c.Vocab, c.Dim)
	return 4 * int64(floats)
}
