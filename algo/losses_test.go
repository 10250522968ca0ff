package algo

import (
	"math"
	"testing"
)

// Every branch of the clip: what the loss of one token is, and its gradient. Old is 0, so the ratio is exp(New).
func TestClip(t *testing.T) {
	dual := LossConfig{Name: "ppo", ClipLow: .2, ClipHigh: .28, DualClip: 3}
	ln := func(x float64) float32 { return float32(math.Log(x)) }
	for _, c := range []struct {
		name           string
		ratio, A       float64
		loss, gradient float64
		low, high, far int
	}{
		{name: "on policy", ratio: 1, A: 2, loss: -2, gradient: -2},
		{name: "on policy, bad", ratio: 1, A: -2, loss: 2, gradient: 2},
		{name: "good, up a little", ratio: 1.25, A: 2, loss: -2.5, gradient: -2.5},
		{name: "good, up enough: clipped", ratio: 1.5, A: 2, loss: -2.56, gradient: 0, high: 1},
		{name: "good, but fell: brought back", ratio: .5, A: 2, loss: -1, gradient: -1},
		{name: "bad, down a little", ratio: .9, A: -2, loss: 1.8, gradient: 1.8},
		{name: "bad, down enough: clipped", ratio: .5, A: -2, loss: 1.6, gradient: 0, low: 1},
		{name: "bad, but rose: brought back", ratio: 2, A: -2, loss: 4, gradient: 4},
		{name: "bad, and rose too far: dual clip", ratio: 5, A: -2, loss: 6, gradient: 0, far: 1},
		{name: "no advantage, no gradient", ratio: 5, A: 0, loss: 0, gradient: 0},
	} {
		d, s := gradients(Tokens{LogpNew: []float32{ln(c.ratio)}, LogpOld: []float32{0}, Advantage: []float32{float32(c.A)}}, dual)
		nearly(t, c.name+": loss", s.Loss, c.loss)
		near(t, c.name+": gradient", d, c.gradient)
		equal(t, c.name+": clipped low, high, dual", [3]int{s.ClippedLow, s.ClippedHigh, s.ClippedDual}, [3]int{c.low, c.high, c.far})
		if c.gradient == 0 && d[0] != 0 {
			t.Errorf("%s: gradient %v is not exactly 0", c.name, d[0])
		}
	}
}

// One ratio for a segment: exp of the mean log-ratio. A token far off is not clipped if its segment is not.
func TestGSPO(t *testing.T) {
	cfg := LossConfig{Name: "gspo", ClipLow: .2, ClipHigh: .2}
	two := func(a, b float32) Tokens {
		return Tokens{LogpNew: []float32{a, b}, LogpOld: []float32{0, 0}, Advantage: []float32{1, 1}}
	}
	s := math.Exp(.1)
	d, stats := gradients(two(.3, -.1), cfg)
	nearly(t, "loss", stats.Loss, -s)
	near(t, "gradient", d, -s/2, -s/2)
	equal(t, "the ratio that was judged", [2]bool{close6(stats.RatioMin, s), close6(stats.RatioMax, s)}, [2]bool{true, true})

	_, stats = gradients(two(1, -1), cfg)
	nearly(t, "tokens that cancel", stats.Loss, -1)
	equal(t, "are not clipped", stats.Clipped(), 0)
	_, stats = gradients(two(1, -1), clip20)
	nearly(t, "ppo clips one of them", stats.Clipped(), .5)

	d, stats = gradients(two(.5, .1), cfg)
	near(t, "a segment out of bounds has no gradient at all", d, 0, 0)
	equal(t, "clipped", stats.ClippedHigh, 2)

	in := two(.3, -.1)
	in.Starts = []int32{0, 1, 2}
	d, _ = gradients(in, cfg)
	near(t, "segments do not see each other", d, 0, -math.Exp(-.1)/2)

	in = two(nan, .1)
	d, stats = gradients(in, cfg)
	near(t, "a ratio that is not known", d, 0, 0)
	equal(t, "counts for all its tokens", stats.NonFinite, 2)
}

// The weight is the ratio up to a ceiling, and every token keeps a gradient.
func TestCISPO(t *testing.T) {
	cfg := LossConfig{Name: "cispo", Ceiling: 1.2}
	in := Tokens{LogpNew: []float32{.5, -.5}, LogpOld: []float32{0, 0}, Advantage: []float32{1, 1}}
	d, s := gradients(in, cfg)
	nearly(t, "loss", s.Loss, -(1.2*.5+math.Exp(-.5)*-.5)/2)
	near(t, "gradient", d, -1.2/2, -math.Exp(-.5)/2)
	equal(t, "capped", s.Capped, 1)
	equal(t, "with a gradient", s.Active, 2)

	in = Tokens{LogpNew: []float32{.5, -.5, .5}, LogpOld: []float32{0, 0, 0}, Advantage: []float32{1, 1, -1}}
	_, s = gradients(in, cfg)
	nearly(t, "whatever the sign of A", s.Clipped(), 2./3)

	d, _ = gradients(Tokens{LogpNew: []float32{-1, -2}, Advantage: []float32{2, -3}}, cfg)
	near(t, "fresh tokens", d, -1, 1.5)
}

// The gate is open at ratio 1 and closes smoothly on both sides, faster for A < 0.
func TestSAPO(t *testing.T) {
	cfg := LossConfig{Name: "sapo", TauPositive: 1, TauNegative: 2}
	gate := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, c := range []struct{ ratio, a, loss, gradient float64 }{
		{1, 1, -2, -1},
		{1, -1, 1, 1},
		{3, 1, -4 * gate(2), -4 * gate(2) * gate(-2) * 3},
		{3, -1, 2 * gate(4), 4 * gate(4) * gate(-4) * 3},
		{.5, 1, -4 * gate(-.5), -4 * gate(-.5) * gate(.5) * .5},
		{1e12, 1, -4, 0},
	} {
		in := Tokens{LogpNew: []float32{float32(math.Log(c.ratio))}, LogpOld: []float32{0}, Advantage: []float32{float32(c.a)}}
		d, s := gradients(in, cfg)
		near(t, "gradient", d, c.gradient)
		nearly(t, "loss", s.Loss, c.loss)
		equal(t, "clipped", s.Clipped(), 0)
	}
}

// What the ratio compares with: the learner at the start of the batch, or the generator.
func TestProximal(t *testing.T) {
	in := Tokens{LogpNew: []float32{-1}, LogpOld: []float32{-1}, LogpGen: []float32{-1 - .5}, Advantage: []float32{1}}
	for name, want := range map[string]float64{"decoupled": -1, "": -1, "behavior": 0, "coupled": 0} {
		cfg := clip20
		cfg.Proximal = name
		d, _ := gradients(in, cfg)
		near(t, name, d, want) // from the generator, the token moved by exp(.5) already
	}
	in.LogpGen = nil
	mustPanic(t, "no generator", func() { gradients(in, LossConfig{Name: "ppo", Proximal: "behavior"}) })
}
