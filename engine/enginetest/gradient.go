// What every Learner promises about gradients: they are right, they add up, and nothing but Step clears them.

package enginetest

import (
	"math"

	"molt/engine"
)

var gradientChecks = []Check{
	{"Gradient/Additive", checkAdditive},
	{"Gradient/Sums", checkSums},
	{"Gradient/Linear", checkLinear},
	{"Gradient/Release", checkReleaseKeeps},
	{"Gradient/Cleared", checkCleared},
	{"Gradient/FiniteDifference", checkFiniteDifference},
	{"Gradient/Alone", checkGradientAlone},
}

// norm gives the norm of what was accumulated, and clears it without a trace in the weights.
func (c *checking) norm(s Subject) float64 {
	c.Helper()
	return c.step(s, 0).GradNorm
}

// checkAdditive accumulates the sequences of a batch one by one: their sum is the gradient of the batch.
func checkAdditive(c *checking) {
	s := c.learner()
	b := c.batch(s, 0)
	c.backward(s, b, 1)
	want := c.norm(s)
	for i := range len(b.Starts) - 1 {
		c.backward(s, sequence(b, i), 1)
	}
	c.near("gradient norm of a batch in parts", c.norm(s), want, 1e-4)
}

// checkSums packs one sequence twice: the gradient doubles, because engines never divide by what is in a batch.
func checkSums(c *checking) {
	s := c.learner()
	one := sequence(c.batch(s, 0), 0)
	c.backward(s, one, 1)
	want := 2 * c.norm(s)

	n := int32(len(one.Tokens))
	two := engine.Batch{Starts: []int32{0, n, 2 * n}}
	for i := range int32(2) {
		two.Tokens = append(two.Tokens, one.Tokens...)
		two.Temperature = append(two.Temperature, one.Temperature...)
		for _, t := range one.Score {
			two.Score = append(two.Score, t+i*n)
		}
	}
	c.backward(s, two, 1)
	c.near("gradient norm of a sequence packed twice", c.norm(s), want, 1e-4)

	c.backward(s, one, 1)
	c.backward(s, one, 1)
	c.near("gradient norm of a sequence passed twice", c.norm(s), want, 1e-4)
}

// checkLinear scales the derivatives: the gradient scales with them, and none gives none.
func checkLinear(c *checking) {
	s := c.learner()
	b := c.batch(s, 0)
	c.backward(s, b, 1)
	want := c.norm(s)
	c.backward(s, b, -4)
	c.near("gradient norm under 4 times the derivatives", c.norm(s), 4*want, 1e-4)
	c.backward(s, b, 0)
	if got := c.norm(s); got != 0 {
		c.Errorf("gradient norm %v under derivatives of 0; want 0", got)
	}
}

// checkReleaseKeeps ends a pass without a backward between two with one: it adds nothing and clears nothing.
func checkReleaseKeeps(c *checking) {
	s := c.learner()
	c.backward(s, c.batch(s, 0), 1)
	c.backward(s, c.batch(s, 1), 1)
	want := c.norm(s)
	c.backward(s, c.batch(s, 0), 1)
	c.forward(s, c.batch(s, 2), engine.Want{Grad: true}).Release()
	c.logp(s, c.batch(s, 2))
	c.backward(s, c.batch(s, 1), 1)
	if got := c.norm(s); got != want {
		c.Errorf("gradient norm %v with released passes in between; %v without", got, want)
	}
}

func checkCleared(c *checking) {
	s := c.learner()
	c.backward(s, c.batch(s, 0), 1)
	c.step(s, 1e-3)
	if got := c.norm(s); got != 0 {
		c.Errorf("gradient norm %v after a step; want 0", got)
	}
	c.backward(s, c.batch(s, 0), float32(math.NaN()))
	c.step(s, 1e-3)
	if got := c.norm(s); got != 0 {
		c.Errorf("gradient norm %v after a skipped step; want 0", got)
	}
}

// checkFiniteDifference moves the weights and compares how the weighted sum of log-probs moves with the gradient.
func checkFiniteDifference(c *checking) {
	s := c.learner()
	c.need(s.Probe != nil, "a Probe, for finite differences")
	b := c.batch(s, 0)
	d := varied(len(b.Score))
	pass := c.forward(s, b, engine.Want{Grad: true})
	c.noError(pass.Backward(c.ctx, d, nil, nil), "Backward")
	c.differences(s, func() float64 { return dot(c.logp(s, b), d) })
}

// differences compares the accumulated gradient of each tensor with central differences of loss: along the gradient
// itself, where the signal is strongest, and along directions that do not know it, which a gradient of 0 cannot escape.
func (c *checking) differences(s Subject, loss func() float64) {
	c.Helper()
	moved := false
	w := c.weights(s)
	for _, tensor := range *changing(&w) {
		gradient := make([]float64, len(tensor.Data))
		for i := range gradient {
			gradient[i] = s.Probe.Gradient(tensor.Name, i)
		}
		for name, direction := range map[string][]float64{
			"its gradient":       unit(gradient),
			"a random direction": unit(random(len(gradient), 1)),
			"another direction":  unit(random(len(gradient), 2)),
		} {
			want := dot(gradient, direction)
			got := c.slope(s, tensor, direction, loss)
			if math.Abs(got-want) > 2e-2*math.Abs(want)+1e-2 {
				c.Errorf("%s: slope %v along %s; finite differences give %v", tensor.Name, want, name, got)
			}
			moved = moved || math.Abs(got) > 0.1
		}
	}
	if !moved {
		c.Errorf("no weight moves the loss")
	}
}

// slope is the central difference of loss along a unit direction of one tensor, which it restores.
func (c *checking) slope(s Subject, tensor engine.Tensor, direction []float64, loss func() float64) float64 {
	const h = 3e-3
	at := func(step float64) float64 {
		for i, w := range tensor.Data {
			s.Probe.SetWeight(tensor.Name, i, float32(float64(w)+step*direction[i]))
		}
		return loss()
	}
	difference := at(h) - at(-h)
	at(0)
	return difference / (2 * h)
}

// unit scales to length 1; what is 0 stays 0.
func unit(x []float64) []float64 {
	length := math.Sqrt(dot(x, x))
	u := make([]float64, len(x))
	for i := range x {
		if length > 0 {
			u[i] = x[i] / length
		}
	}
	return u
}

func random(n int, seed uint64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = uniform(engine.Key{Seed: seed}, i) - 0.5
	}
	return x
}

// checkGradientAlone scores one token: tokens that are not scored, and sequences without one, have no gradient.
func checkGradientAlone(c *checking) {
	s := c.learner()
	b := c.batch(s, 0)
	one := sequence(b, 0)
	one.Score, one.Temperature = one.Score[:1], one.Temperature[:1]
	c.backward(s, one, 1)
	want := c.norm(s)
	b.Score, b.Temperature = b.Score[:1], b.Temperature[:1]
	c.backward(s, b, 1)
	c.near("gradient norm of one scored token of a batch", c.norm(s), want, 1e-5)
}

func (c *checking) near(what string, got, want, tolerance float64) {
	c.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) || want == 0 {
		c.Errorf("%s is %v; want %v", what, got, want)
	}
}

// varied lists derivatives of both signs.
func varied(n int) []float32 {
	d := make([]float32, n)
	for i := range d {
		d[i] = []float32{1, -0.5, 0.25, 2}[i%4]
	}
	return d
}

func dot[X, Y float32 | float64](x []X, y []Y) float64 {
	var s float64
	for i := range x {
		s += float64(x[i]) * float64(y[i])
	}
	return s
}
