package kernel

import (
	"math"
	"testing"
)

// ulps is the distance of got from want in units of the float32 spacing at want.
func ulps(got float32, want float64) float64 {
	f := float32(math.Abs(want))
	return math.Abs(float64(got)-want) / (float64(math.Nextafter32(f, math.MaxFloat32)) - float64(f))
}

func TestExpWithinOneUlp(t *testing.T) {
	for _, path := range Paths()[1:] {
		t.Run(path, func(t *testing.T) {
			defer SetPath(path)()
			var x, y [4096]float32
			n, worst := 0, 0.0
			for bits := uint64(0); bits < 1<<32; bits += 1009 {
				v := math.Float32frombits(uint32(bits))
				if !(v > -110 && v < 88.7228) {
					continue
				}
				x[n] = v
				if n++; n == len(x) {
					Exp(y[:], x[:])
					for i, v := range x {
						worst = max(worst, ulps(y[i], math.Exp(float64(v))))
					}
					n = 0
				}
			}
			if worst > 0.9 {
				t.Fatalf("error of %.3f ulp", worst)
			}
		})
	}
}

func TestExpLimits(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct{ x, want float32 }{
		{0, 1}, {negZero, 1}, {1, math.E}, {-inf, 0}, {inf, inf}, {89, inf}, {88.73, inf}, {1e30, inf}, {-1e30, 0}, {-104, 0},
		{-103.9, 0x1p-149}, {0x1p-149, 1},
	} {
		if got := exp32(c.x); got != c.want {
			t.Errorf("exp(%v) = %v, want %v", c.x, got, c.want)
		}
	}
	if got := exp32(float32(math.NaN())); got == got {
		t.Errorf("exp(NaN) = %v", got)
	}
}

func TestLog(t *testing.T) {
	for bits := uint32(1); bits < 0x7f800000; bits += 40009 {
		x := math.Float32frombits(bits)
		if e := ulps(Log(x), math.Log(float64(x))); e > 0.501 {
			t.Fatalf("log(%v) = %v, off by %.3f ulp", x, Log(x), e)
		}
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ x, want float32 }{
		{1, 0}, {0, -inf}, {negZero, -inf}, {inf, inf}, {-1, nan}, {-inf, nan}, {nan, nan},
	} {
		if got := Log(c.x); got != c.want && (got == got || c.want == c.want) {
			t.Errorf("log(%v) = %v, want %v", c.x, got, c.want)
		}
	}
}

var negZero = float32(math.Copysign(0, -1))
