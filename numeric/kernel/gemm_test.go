package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// everyPath runs f once for each vector path of this machine.
func everyPath(t *testing.T, f func(t *testing.T)) {
	for _, p := range Paths()[1:] {
		t.Run(p, func(t *testing.T) {
			defer SetPath(p)()
			f(t)
		})
	}
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// diff returns the first index at which two slices differ in bits, -1 for none; all NaNs are alike.
func diff(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) && (a[i] == a[i] || b[i] == b[i]) {
			return i
		}
	}
	return -1
}

func TestGemmMatchesPlain(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for range 4000 {
			m, n, k := r.IntN(40), r.IntN(70), r.IntN(70)
			if r.IntN(50) == 0 {
				k += 500
			}
			ldc := n + r.IntN(3)
			rowA, colA := k+r.IntN(3), 1
			if r.IntN(2) == 0 {
				rowA, colA = 1, m+r.IntN(3)
			}
			a := random(r, m*rowA+k*colA+1)
			var b B
			if r.IntN(2) == 0 {
				ld := n + r.IntN(3)
				b = RowMajor(random(r, max(0, (k-1)*ld+n)), ld)
			} else {
				b = Packed(random(r, PackedLen(k, n)), k)
			}
			want := random(r, m*ldc+5)
			got := append([]float32(nil), want...)
			acc := r.IntN(2) == 0
			Gemm(got, ldc, a, rowA, colA, b, m, n, k, acc)
			gemmPlain(want, ldc, a, rowA, colA, b, m, n, k, acc)
			if i := diff(got, want); i >= 0 {
				t.Fatalf("m=%d n=%d k=%d ldc=%d rowA=%d colA=%d %+v acc=%v: c[%d] = %v, want %v", m, n, k, ldc, rowA, colA, b.RowStride, acc, i, got[i], want[i])
			}
		}
	})
}

func benchGemm(b *testing.B, m, n, k int, packed bool) {
	ar := NewArena(m*n + m*k + PackedLen(k, n) + 1000)
	defer ar.Free()
	c, a, w := ar.Floats(m*n), ar.Floats(m*k), ar.Floats(PackedLen(k, n))
	for i := range a {
		a[i] = float32(i % 7)
	}
	for i := range w {
		w[i] = float32(i % 5)
	}
	op := RowMajor(w, n)
	if packed {
		op = Packed(w, k)
	}
	for b.Loop() {
		Gemm(c, n, a, k, 1, op, m, n, k, false)
	}
	b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GF/s")
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range []struct {
		name    string
		m, n, k int
	}{{"256", 256, 256, 256}, {"512", 512, 512, 512}, {"1024", 1024, 1024, 1024}, {"2048", 2048, 2048, 2048},
		{"d1", 1, 384, 128}, {"d8", 8, 384, 128}, {"d64", 64, 384, 128}, {"d128", 128, 384, 128}, {"att", 2, 64, 32},
		{"D1", 1, 1408, 512}, {"D8", 8, 1408, 512}, {"D64", 64, 1408, 512}, {"D13", 13, 1408, 512}} {
		b.Run(s.name, func(b *testing.B) { benchGemm(b, s.m, s.n, s.k, true) })
	}
	b.Run("row512", func(b *testing.B) { benchGemm(b, 512, 512, 512, false) })
	b.Run("row1024", func(b *testing.B) { benchGemm(b, 1024, 1024, 1024, false) })
}
