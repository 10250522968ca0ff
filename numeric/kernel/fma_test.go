package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactFMA rounds the exact x*y+z to float32 once. Zero results keep the sign that IEEE gives.
func exactFMA(x, y, z float32) float32 {
	direct := float64(x)*float64(y) + float64(z)
	if math.IsNaN(direct) || math.IsInf(direct, 0) || direct == 0 {
		return float32(direct)
	}
	exact := func(v float32) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(float64(v)) }
	product := exact(x)
	product.Mul(product, exact(y))
	f, _ := product.Add(product, exact(z)).Float32()
	return f
}

func TestFMARoundsOnce(t *testing.T) {
	check := func(x, y, z float32) {
		t.Helper()
		got, want := fma32(x, y, z), exactFMA(x, y, z)
		if diff([]float32{got}, []float32{want}) >= 0 {
			t.Fatalf("fma32(%x, %x, %x) = %x, want %x", x, y, z, got, want)
		}
	}
	for _, x := range hard {
		for _, y := range hard {
			for _, z := range hard {
				check(x, y, z)
			}
		}
	}
	// The sum lies a hair off the middle of two neighbours, where rounding twice goes wrong.
	check(1+0x1p-12, 1+0x1p-12, 0x1p30)
	check(0x1.000002p0, 0x1p-24, 1)
	check(0x1.000002p0, -0x1p-25, 1)
	r := rand.New(rand.NewPCG(1, 1))
	for range 200_000 {
		check(math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32()))
	}
	for range 200_000 { // exponents close enough for the addend to matter, mantissas short enough for ties
		x := float32(r.IntN(1<<13)) * 0x1p-6
		y := float32(r.IntN(1<<13)) * 0x1p-70
		z := math.Float32frombits(uint32(r.IntN(60)+20)<<23 | uint32(r.IntN(1<<23)))
		check(x, y, z)
		check(-x, y, z)
		check(x*0x1p-60, y*0x1p-20, z*0x1p-60)
	}
}
