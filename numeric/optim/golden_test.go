package optim

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"molt/numeric/kernel"
)

// golden is a few steps by torch.optim, made by scripts/goldens/optim.
type golden struct {
	Name         string
	Shape        []int
	LR, Momentum float64
	Nesterov     bool
	Decay        float64
	Weights      []float32
	Grads        [][]float32
	First, Last  []float64 // weights after the first and the last step, in float64
	BF16         []float64 // after the last step, as PyTorch computes Muon
}

func (g golden) config() Config {
	c := Default()
	c.Name = g.Name
	c.Adam.Decay = g.Decay
	c.Muon = Muon{Momentum: g.Momentum, Nesterov: g.Nesterov, Decay: g.Decay}
	return c
}

func TestGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []golden
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	pool := kernel.NewPool(2)
	defer pool.Close()
	for _, g := range cases {
		t.Run(fmt.Sprint(g.Name, g.Shape), func(t *testing.T) {
			start := slices.Clone(g.Weights)
			p := Param{Name: "w", Shape: g.Shape, Decay: true, Data: g.Weights, Grad: make([]float32, len(g.Weights))}
			o := newOptimizer(t, g.config(), p)
			for i, grad := range g.Grads {
				copy(p.Grad, grad)
				o.Step(pool, g.LR, 1)
				if i == 0 {
					near(t, "first step", p.Data, g.First, 2e-7)
				}
			}
			near(t, "last step", p.Data, g.Last, 2e-7)
			if g.Name == "adam" {
				halfGolden(t, pool, g, start)
			}
			if g.BF16 != nil {
				near(t, "PyTorch in bfloat16", p.Data, g.BF16, 0.05*g.LR)
			}
		})
	}
}

// halfGolden repeats the case with moments in bfloat16: no weight is further off than a fiftieth of a step.
func halfGolden(t *testing.T, pool *kernel.Pool, g golden, start []float32) {
	t.Helper()
	c := g.config()
	c.Adam.BF16 = true
	p := Param{Name: "w", Shape: g.Shape, Decay: true, Data: start, Grad: make([]float32, len(start))}
	o := newOptimizer(t, c, p)
	for _, grad := range g.Grads {
		copy(p.Grad, grad)
		o.Step(pool, g.LR, 1)
	}
	near(t, "last step, moments in bfloat16", p.Data, g.Last, 0.02*g.LR)
}

func near(t *testing.T, what string, got []float32, want []float64, within float64) {
	t.Helper()
	worst := 0.0
	for i := range got {
		worst = max(worst, math.Abs(float64(got[i])-want[i]))
	}
	t.Logf("%s: within %.2g", what, worst)
	if !(worst <= within) {
		t.Errorf("%s: off by %.3g; want at most %.3g", what, worst, within)
	}
}

func newOptimizer(t testing.TB, c Config, params ...Param) *Optimizer {
	t.Helper()
	o, err := New(params, c, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Free)
	return o
}
