package optim

import (
	"math"

	"molt/numeric/kernel"
)

// Optimizer holds the state of parameters under training. One goroutine drives it. Threads change no bit: elements and
// matrices step independently, and sums add up pieces of kernel.SumChunk elements in order.
type Optimizer struct {
	Steps int // taken; with State, all that a step depends on

	config   Config
	elements []piece  // what AdamW steps
	matrices []matrix // what Muon steps
	grads    [][]float32
	squares  []float64 // of the pieces of grads
	state    []Tensor
	scratch  []scratch // of each thread
	arena    *kernel.Arena
}

// Tensor is a named part of the state.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// New makes an optimizer with empty moments, off the Go heap, for pools of at most so many threads. It keeps the slices of
// params. Free releases the moments.
func New(params []Param, c Config, threads int) (*Optimizer, error) {
	if err := c.Validate(params); err != nil {
		return nil, err
	}
	rules, _ := c.rules(params)
	o := &Optimizer{config: c, arena: kernel.NewArena(floats(params, rules, c, threads))}
	for i, p := range params {
		switch rules[i].method {
		case frozen:
			continue
		case adamw:
			o.addElements(p, rules[i], i)
		case muon:
			o.addMatrix(p, rules[i])
		}
		for lo := 0; lo < len(p.Grad); lo += kernel.SumChunk {
			o.grads = append(o.grads, p.Grad[lo:min(lo+kernel.SumChunk, len(p.Grad))])
		}
	}
	o.squares = make([]float64, len(o.grads))
	arrange(o.matrices)
	for range threads {
		o.scratch = append(o.scratch, roomFor(params, rules, c).allocate(o.arena))
	}
	return o, nil
}

// moment allocates a part of the state, in the parameter's shape.
func (o *Optimizer) moment(kind string, p Param) []float32 {
	m := o.arena.Zeros(p.size())
	o.state = append(o.state, Tensor{kind + p.Name, p.Shape, m})
	return m
}

// State lists the moments, named adam.m., adam.v., adam.mv. (both, in bfloat16) or muon.m. before the parameter's name. Who writes them, and Steps,
// continues from there.
func (o *Optimizer) State() []Tensor { return o.state }

// Free releases the moments; o must not be used afterwards.
func (o *Optimizer) Free() { o.arena.Free() }

// Bytes is the memory that New takes for these parameters, whose Data and Grad may be nil.
func Bytes(params []Param, c Config, threads int) int64 {
	rules, _ := c.rules(params)
	return 4 * int64(floats(params, rules, c, threads))
}

func floats(params []Param, rules []rule, c Config, threads int) int {
	sum := threads * roomFor(params, rules, c).floats()
	for i, p := range params {
		sum += c.moments(rules[i].method) * pad(p.size())
	}
	return sum
}

// moments is how many floats a weight's moments take.
func (c Config) moments(m method) int {
	switch {
	case m == frozen:
		return 0
	case m == muon, c.Adam.BF16:
		return 1
	}
	return 2
}

// pad is what the arena takes for n floats.
func pad(n int) int { return (n + kernel.Lanes - 1) / kernel.Lanes * kernel.Lanes }

// Norm is the norm of all gradients together, those of frozen parameters left out.
func (o *Optimizer) Norm(pool *kernel.Pool) float64 {
	pool.Run(len(o.grads), (*squaring)(o))
	var sum float64
	for _, s := range o.squares {
		sum += s
	}
	return math.Sqrt(sum)
}

// squaring is Norm as a task over pieces of gradients.
type squaring Optimizer

func (t *squaring) Do(item, _ int) { t.squares[item] = kernel.SumSquares(t.grads[item]) }

// Step updates the parameters at learning rate lr, along their gradients times scale.
func (o *Optimizer) Step(pool *kernel.Pool, lr, scale float64) {
	o.Steps++
	o.stepElements(pool, lr, scale)
	o.stepMatrices(pool, lr, scale)
}
