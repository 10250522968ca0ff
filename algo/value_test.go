package algo

import "testing"

// ℓ = ½·max((V − R)², (clip(V, V₀ ± .2) − R)²), and its derivative by V.
func TestValueLoss(t *testing.T) {
	for _, c := range []struct {
		name          string
		v, start, r   float32
		clip          float64
		loss, slope   float64
		moved, finite int
	}{
		{"did not move", 1, 1, 3, .2, 2, -2, 0, 1},
		{"moved a little", 1.25, 1.125, 3, .2, 1.53125, -1.75, 0, 1},
		{"moved enough towards R: pushed no further", 2, 1, 3, .2, 1.8 * 1.8 / 2, 0, 1, 1},
		{"moved away: brought back", 0, 1, 3, .2, 4.5, -3, 1, 1},
		{"moved beyond R: brought back", 5, 1, 3, .2, 2, 2, 1, 1},
		{"without a clip", 2, 1, 3, 0, .5, -1, 0, 1},
		{"NaN", nan, 1, 3, .2, 0, 0, 0, 0},
		{"infinite", 1, 1, inf, .2, 0, 0, 0, 0},
	} {
		d := make([]float32, 1)
		in := Tokens{Value: []float32{c.v}, ValueOld: []float32{c.start}, Return: []float32{c.r}}
		s := ValueLoss(d, in, ValueConfig{Clip: c.clip, Coef: 2}, 4)
		near(t, c.name+": gradient", d, 2*c.slope/4)
		near(t, c.name+": loss", []float64{s.Loss, s.Mean()}, 2*c.loss/4, c.loss)
		nearly(t, c.name+": clipped", s.Clipped(), float64(c.moved))
		equal(t, c.name+": moved, finite", [2]int{s.Moved, s.Tokens - s.NonFinite}, [2]int{c.moved, c.finite})
	}
}

func TestValueStats(t *testing.T) {
	explained := func(value ...float32) float64 {
		in := Tokens{Value: value, ValueOld: value, Return: []float32{1, 2, 3, 4}}
		return ValueLoss(make([]float32, 4), in, ValueConfig{Coef: 1}, 4).Explained()
	}
	nearly(t, "perfect", explained(1, 2, 3, 4), 1)
	nearly(t, "off by a constant", explained(0, 1, 2, 3), 1)
	nearly(t, "a constant", explained(7, 7, 7, 7), 0)
	nearly(t, "the wrong way", explained(4, 3, 2, 1), -3) // errors −3 −1 1 3: variance 5 against 1.25
	equal(t, "of nothing", ValueLoss(nil, Tokens{}, ValueConfig{}, 0), ValueStats{})
	equal(t, "of nothing", [2]float64{ValueStats{}.Explained(), ValueStats{}.Mean()}, [2]float64{})

	in := Tokens{Value: []float32{1, 2}, ValueOld: []float32{0, 2}, Return: []float32{3, 3}, Share: []float32{.5, 1}}
	d := []float32{10, 0}
	s := ValueLoss(d, in, ValueConfig{Coef: 1}, 2)
	near(t, "shares, on top of what was there", d, 10-.5, -.5)
	nearly(t, "loss", s.Loss, (.5*2+.5)/2)
	both := s
	both.Add(s)
	nearly(t, "adds up", both.Loss, 2*s.Loss)
	nearly(t, "the mean stays", both.Mean(), s.Mean())
	mustPanic(t, "lengths", func() { ValueLoss(d, Tokens{Value: in.Value}, ValueConfig{}, 1) })
}
