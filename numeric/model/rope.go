package model

import "math"

// rope holds the rotary angles' cosines and sines, [MaxPositions, hd/2] each. As in Hugging Face transformers the inverse
// frequency theta^(-2i/hd) and the angle position*frequency are rounded to float32, which is what checkpoints were trained
// with.
type rope struct {
	cos, sin []float32
	half     int
}

func newRope(c Config, floats func(int) []float32) rope {
	half := c.HeadDim / 2
	r := rope{cos: floats(c.MaxPositions * half), sin: floats(c.MaxPositions * half), half: half}
	for i := range half {
		frequency := float32(math.Pow(c.RopeTheta, -float64(2*i)/float64(c.HeadDim)))
		for p := range c.MaxPositions {
			sin, cos := math.Sincos(float64(float32(p) * frequency))
			r.cos[p*half+i], r.sin[p*half+i] = float32(cos), float32(sin)
		}
	}
	return r
}

// at is the rotation of one position.
func (r *rope) at(position int) (cos, sin []float32) {
	return r.cos[position*r.half:][:r.half], r.sin[position*r.half:][:r.half]
}
