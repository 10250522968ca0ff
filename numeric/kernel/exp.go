package kernel

import "math"

var negInf = float32(math.Inf(-1))

// Exp writes e**x to dst, within 1 ulp; dst may be x. Below -103.98 it is 0, above 88.73 +Inf.
func Exp(dst, x []float32) {
	checkSame("Exp", dst, x)
	exp(dst, x)
}

func expPlain(dst, x []float32) {
	for i, v := range x {
		dst[i] = exp32(v)
	}
}

// The polynomial is Cephes expf's: e**x = 2**n * e**r with n = round(x/ln 2) and |r| <= ln(2)/2, where
// e**r = 1 + r + r*r*(P0 r^5 + ... + P5). ln 2 is split in two so that n*ln2Hi is exact.
const (
	expHigh = 89.0   // e**x overflows here
	expLow  = -105.0 // and is zero here
	log2E   = 1.44269504088896341
	ln2Hi   = 0.693359375
	ln2Lo   = -2.12194440e-4
	round   = 3 << 22 // x+round-round is x rounded to an integer, half to even
	expP0   = 1.9875691500e-4
	expP1   = 1.3981999507e-3
	expP2   = 8.3334519073e-3
	expP3   = 4.1665795894e-2
	expP4   = 1.6666665459e-1
	expP5   = 5.0000001201e-1
)

// exp32 is the one definition of exp that every path follows, operation by operation.
func exp32(x float32) float32 {
	x = larger(expLow, smaller(expHigh, x))
	shifted := fma32(x, log2E, round)
	n := shifted - round
	r := fma32(n, -ln2Lo, fma32(n, -ln2Hi, x))
	p := fma32(expP0, r, expP1)
	p = fma32(p, r, expP2)
	p = fma32(p, r, expP3)
	p = fma32(p, r, expP4)
	p = fma32(p, r, expP5)
	p = fma32(p, r, 1)
	p = fma32(p, r, 1)
	// 2**n in two exact steps, so that only the last product rounds, also in the subnormal range.
	k := int32(n)
	half := k >> 1
	return float32(p*pow2(half)) * pow2(k-half)
}

// pow2 returns 2**n for -126 <= n <= 127.
func pow2(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// smaller is the comparison of the vector units: y unless x < y.
func smaller(x, y float32) float32 {
	if x < y {
		return x
	}
	return y
}

// Log returns the natural logarithm of x rounded from float64. It does the same operations on every architecture, which
// math.Log does not.
func Log(x float32) float32 {
	switch {
	case x != x || x > math.MaxFloat32:
		return x
	case x < 0:
		return float32(math.NaN())
	case x == 0:
		return negInf
	}
	// x = f * 2**k with sqrt(2)/2 <= f < sqrt(2); log f = 2 atanh(s) with s = (f-1)/(f+1), |s| < 0.1716.
	f, k := math.Frexp(float64(x))
	if f < math.Sqrt2/2 {
		f *= 2
		k--
	}
	s := (f - 1) / (f + 1)
	z := float64(s * s)
	p := 0.0
	for i := 21; i >= 1; i -= 2 {
		p = float64(p*z) + 1/float64(i)
	}
	return float32(float64(float64(k)*math.Ln2) + float64(2*s*p))
}
