package local

import (
	"math"
	"testing"

	"molt/engine"
)

// A new critic foresees nothing, is the policy in everything else, and learns.
func TestAddValueHead(t *testing.T) {
	policy := newLearner(t, tiny, func(*Config) {})
	w, err := policy.Weights(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shape, w := AddValueHead(tiny, w)
	critic, err := NewLearner(shape, w, policy.config)
	if err != nil {
		t.Fatal(err)
	}
	defer critic.Close()
	if tiny.ValueHead || !critic.Capabilities().Value {
		t.Fatal("the head went to the wrong model")
	}
	b := engine.Batch{Tokens: []int32{1, 5, 9, 2, 7, 7}, Starts: []int32{0, 4, 6}, Score: []int32{1, 2, 3, 5}}
	plain := forward(t, policy, b, engine.Want{})
	logp := append([]float32(nil), plain.Logp()...)
	plain.Release()
	wanted := []float32{1, -1, 0.5, 2}
	var first, last float64
	for i := range 60 {
		pass := forward(t, critic, b, engine.Want{Value: true, Grad: true})
		value := append([]float32(nil), pass.Value()...)
		last = 0
		d := make([]float32, len(value))
		for k, v := range value {
			if i == 0 && (v != 0 || pass.Logp()[k] != logp[k]) {
				t.Errorf("token %d: value %v, log-prob %v; want 0 and the policy's %v", k, v, pass.Logp()[k], logp[k])
			}
			d[k] = v - wanted[k]
			last += math.Pow(float64(d[k]), 2)
		}
		if i == 0 {
			first = last
		}
		if err := pass.Backward(t.Context(), make([]float32, len(value)), nil, d); err != nil {
			t.Fatal(err)
		}
		step(t, critic, engine.StepOptions{LR: 1e-2})
	}
	if last > first/100 {
		t.Errorf("the squared error went from %v to %v", first, last)
	}
}

func forward(t *testing.T, l *Learner, b engine.Batch, want engine.Want) engine.Pass {
	t.Helper()
	pass, err := l.Forward(t.Context(), b, want)
	if err != nil {
		t.Fatal(err)
	}
	return pass
}
