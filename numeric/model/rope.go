package model

import (
	"math"
	"slices"
)

// rope holds the rotary angles' cosines and sines, [MaxPositions, half] each (Su et al. 2021). As in Hugging Face
// transformers the frequencies and the angles position*frequency are rounded to float32, which is what checkpoints were
// trained with. The tables have the same bits on every machine, which math.Pow and math.Sincos do not promise: no operation
// here is fused or approximate.
type rope struct {
	cos, sin []float32
	half     int
}

func newRope(theta float64, scaling Scaling, half, positions int, floats func(int) []float32) rope {
	r := rope{cos: floats(positions * half), sin: floats(positions * half), half: half}
	factor := scaling.attention()
	for i, frequency := range scaling.frequencies(theta, half) {
		for p := range positions {
			sin, cos := sincos(float64(float32(p) * frequency))
			r.cos[p*half+i], r.sin[p*half+i] = float32(cos)*factor, float32(sin)*factor
		}
	}
	return r
}

// localRope reports whether some layers rotate by LocalTheta.
func (c *Config) localRope() bool {
	return slices.ContainsFunc(c.Kinds, func(k Kind) bool { return k.LocalRope })
}

// at is the rotation of one position.
func (r *rope) at(position int) (cos, sin []float32) {
	return r.cos[position*r.half:][:r.half], r.sin[position*r.half:][:r.half]
}

// root is the n-th root of x >= 1, by bisection.
func root(x float64, n int) float64 {
	low, high := 1.0, x
	for range 128 {
		middle := low + (high-low)/2
		if power(middle, n) < x {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// power is x**n by squaring.
func power(x float64, n int) float64 {
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p = float64(p * x)
		}
		x = float64(x * x)
	}
	return p
}

// The first 33 bits of pi/2, the next 33, and the rest: multiples below 2^20 of the first two are exact.
const (
	halfPiHigh = 1.57079632673412561417e+00
	halfPiMid  = 6.07710050630396597660e-11
	halfPiLow  = 2.02226624879595063154e-21
)

// sincos is good to about 1e-16 for 0 <= x < 2^20: the Taylor series of the angle's distance from a multiple of pi/2.
func sincos(x float64) (sin, cos float64) {
	k := math.Floor(float64(x*(2/math.Pi)) + 0.5)
	r := x - float64(k*halfPiHigh) - float64(k*halfPiMid) - float64(k*halfPiLow)
	z := float64(r * r)
	s, c := 1.0, 1.0
	for n := 18.0; n > 0; n -= 2 {
		c = 1 - float64(z*c)/(n*(n-1))
		s = 1 - float64(z*s)/(n*(n+1))
	}
	s = float64(r * s)
	switch int(k) & 3 {
	case 1:
		return c, -s
	case 2:
		return -s, -c
	case 3:
		return -c, s
	}
	return s, c
}
