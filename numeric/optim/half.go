package optim

import "math"

// Moments of AdamW in bfloat16, as Adam.BF16 asks for: of a float32, its sign, its exponent and 7 bits of its fraction. A pair of
// them lies in the 4 bytes of one float32 of the state, the first moment in the upper half, so that a weight costs 4 bytes
// where it costs 8; arithmetic is that of float32, piece by piece in a thread's scratch.
//
// Rounding to the nearest would stop a second moment that moves by less than one part in 512 a step, which with beta2 = 0.999
// is nearly all of them. So they round up or down at random, with the chances that make the mean right (Gupta et al. 2015,
// arXiv 1502.02551). Which way is a function of the step, the parameter and the element: threads change no bit, and neither
// does a checkpoint in between.

// unpack writes the moments of mv to m and v.
func unpack(m, v, mv []float32) {
	for i, word := range mv {
		b := math.Float32bits(word)
		m[i], v[i] = math.Float32frombits(b&^0xffff), math.Float32frombits(b<<16)
	}
}

// pack rounds moments into mv. salt names the step and the parameter, from the place of mv[0] in it.
func pack(mv, m, v []float32, salt uint64, from int) {
	for i := range mv {
		r := scramble(salt + uint64(from+i))
		mv[i] = math.Float32frombits(roundAt(m[i], r&0xffff)<<16 | roundAt(v[i], r>>16))
	}
}

// roundAt gives the upper half of x, one unit larger where the lower half is so large that it does not fit under r, 0..65535.
func roundAt(x float32, r uint32) uint32 {
	b := math.Float32bits(x)
	if b&0x7f800000 == 0x7f800000 { // not finite: nothing to round, and a NaN must stay one
		return b>>16 | min(b&0x7fffff, 1)<<6
	}
	return (b + r) >> 16
}

// scramble makes 32 bits that look drawn at random from a counter (the finalizer of SplitMix64; Steele, Lea and Flood 2014).
func scramble(x uint64) uint32 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return uint32(x >> 32)
}

// salt is that of a step of the parameter with this ordinal.
func salt(step, parameter int) uint64 { return uint64(step)<<44 ^ uint64(parameter)<<32 }
