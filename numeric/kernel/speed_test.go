package kernel

import (
	"fmt"
	"testing"
)

// shapes are the products that matter: squares, one decode step of small batches, and the two of attention for one query
// group over a page of keys.
var shapes = []struct{ m, n, k int }{
	{256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048},
	{1, 384, 128}, {8, 384, 128}, {64, 256, 128}, {128, 768, 384}, {1, 1408, 512}, {8, 1408, 512}, {64, 1408, 512},
	{2, 64, 32}, {2, 32, 64},
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range shapes {
		for threads := 1; threads <= 2; threads++ {
			b.Run(fmt.Sprintf("%dx%dx%d/%dT", s.m, s.n, s.k, threads), func(b *testing.B) {
				a := NewArena(0)
				defer a.Free()
				c, x, w := a.Zeros(s.m*s.n), a.Zeros(s.m*s.k), a.Zeros(PackedLen(s.k, s.n))
				pool := NewPool(threads)
				defer pool.Close()
				for b.Loop() {
					pool.Gemm(c, s.n, x, s.k, 1, Packed(w, s.k), s.m, s.n, s.k, false)
				}
				reportFLOP(b, s.m, s.n, s.k)
			})
		}
	}
}

// The three products of a linear layer with 1000 tokens: the forward over packed weights, dX over the weights as they are,
// dW over a transposed dY.
func BenchmarkGemmLinear(b *testing.B) {
	const rows, in, out = 1000, 512, 1408
	a := NewArena(0)
	defer a.Free()
	x, w, y, packed := a.Zeros(rows*in), a.Zeros(out*in), a.Zeros(rows*out), a.Zeros(PackedLen(in, out))
	b.Run("forward", func(b *testing.B) {
		for b.Loop() {
			Gemm(y, out, x, in, 1, Packed(packed, in), rows, out, in, false)
		}
		reportFLOP(b, rows, in, out)
	})
	b.Run("input gradient", func(b *testing.B) {
		for b.Loop() {
			Gemm(x, in, y, out, 1, RowMajor(w, in), rows, in, out, true)
		}
		reportFLOP(b, rows, in, out)
	})
	b.Run("weight gradient", func(b *testing.B) {
		for b.Loop() {
			Gemm(w, in, y, 1, out, RowMajor(x, in), out, in, rows, true)
		}
		reportFLOP(b, rows, in, out)
	})
}

func reportFLOP(b *testing.B, m, n, k int) {
	flop := 2 * float64(m) * float64(n) * float64(k) * float64(b.N)
	b.ReportMetric(flop/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// The bytes are those of every slice once: what memory must move at least.
func BenchmarkOperators(b *testing.B) {
	for _, o := range operators {
		for _, n := range []int{32, 4096, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%d", o.name, n), func(b *testing.B) {
				a := NewArena(0)
				defer a.Free()
				var x [][]float32
				for range o.slices {
					x = append(x, a.Zeros(n))
				}
				s := []float32{1, 0.5, 0.25, 0.1, 1}
				for b.Loop() {
					o.call(x, s)
				}
				b.SetBytes(int64(4 * n * o.slices))
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gelements/s")
			})
		}
	}
}
