package model

import "molt/numeric/kernel"

// Model is a decoder's weights, with the copies that the products read. Extend and Forward only read it and may run at the
// same time, each on its own Work; Init, Refresh and the first Backward after a Refresh write, and must run alone.
type Model struct {
	views
	config Config
	arena  *kernel.Arena
	params []Param
	flat   []float32
}

// New allocates a decoder off the Go heap, all weights zero; Free gives it back.
func New(c Config) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	specs := layout(c)
	m := &Model{config: c, arena: kernel.NewArena(storage(specs))}
	m.flat = m.arena.Floats(storage(specs))
	m.params = bind(specs, m.flat)
	m.views = view(c, specs, m.flat)
	return m, nil
}

// Config is the shape given to New.
func (m *Model) Config() Config { return m.config }

// Params lists the weights in checkpoint order. The caller must not append to it.
func (m *Model) Params() []Param { return m.params }

// Refresh makes the current weights the ones that Extend and Forward use: call it after Init, after loading, after each
// optimizer step. pool may be nil.
func (m *Model) Refresh(pool *kernel.Pool) { panic("model: Refresh is not built yet") }

// Init draws fresh weights from seed: embeddings N(0, 0.05²), projections N(0, 1/fan_in) with o and down further scaled by
// 1/sqrt(2 Layers), norms 1, biases and the value head 0. The same seed gives the same bits on every machine. Refresh
// afterwards.
func (m *Model) Init(seed uint64) { panic("model: Init is not built yet") }

// Free releases the memory; m must not be used afterwards.
func (m *Model) Free() { m.arena.Free() }
