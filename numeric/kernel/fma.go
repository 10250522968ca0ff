package kernel

import "math"

// roundOnce returns p+z rounded once to float32, where p is the exact product of two float32 values held in a float64.
// Rounding p+z first to float64 and then to float32 differs from that only when the float64 sum lies exactly halfway
// between two float32 values, or when the result is subnormal.
func roundOnce(p, z float64) float32 {
	s := p + z
	bits := math.Float64bits(s)
	if bits&0x1fffffff == 0x10000000 || bits&(0x7ff<<52) < (1023-126)<<52 {
		return roundHard(p, z, s)
	}
	return float32(s)
}

// roundHard rounds p+z to odd in float64 and then to nearest in float32, which is exact (Boldo and Melquiond 2008,
// "Emulation of a FMA and correctly rounded sums"). s is p+z rounded to nearest.
//
//go:noinline
func roundHard(p, z, s float64) float32 {
	if s == 0 || s != s {
		return float32(s)
	}
	t := s - p
	lost := (p - (s - t)) + (z - t)
	bits := math.Float64bits(s)
	if lost == 0 || bits&1 == 1 {
		return float32(s)
	}
	if (lost > 0) == (s > 0) {
		return float32(math.Float64frombits(bits + 1))
	}
	return float32(math.Float64frombits(bits - 1))
}
