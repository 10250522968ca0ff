package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// everyPath runs f once for each vector path of this machine.
func everyPath(t *testing.T, f func(t *testing.T)) {
	for _, path := range Paths()[1:] {
		t.Run(path, func(t *testing.T) {
			defer SetPath(path)()
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

// product is one call of Gemm.
type product struct {
	c          []float32
	ldc        int
	a          []float32
	rowA, colA int
	b          B
	m, n, k    int
	accumulate bool
}

func (p product) String() string {
	return fmt.Sprintf("M=%d N=%d K=%d ldc=%d rowA=%d colA=%d B strides %d,%d accumulate=%v",
		p.m, p.n, p.k, p.ldc, p.rowA, p.colA, p.b.PanelStride, p.b.RowStride, p.accumulate)
}

func (p product) run(f func(c []float32, ldc int, a []float32, rowA, colA int, b B, m, n, k int, accumulate bool)) []float32 {
	c := slices.Clone(p.c)
	f(c, p.ldc, p.a, p.rowA, p.colA, p.b, p.m, p.n, p.k, p.accumulate)
	return c
}

// randomProduct draws operands whose slices end where the product ends, with odd strides, A either way round and B packed,
// as pages or row-major. One element in odds is hard, none for odds 0.
func randomProduct(r *rand.Rand, m, n, k, odds int) product {
	p := product{m: m, n: n, k: k, ldc: n + r.IntN(5), rowA: k + r.IntN(5), colA: 1, accumulate: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		p.rowA, p.colA = 1, m+r.IntN(5)
	}
	fill := func(size int) []float32 {
		x := random(r, max(size, 0))
		for i := range x {
			if odds > 0 && r.IntN(odds) == 0 {
				x[i] = hard[r.IntN(len(hard))]
			}
		}
		return x
	}
	p.c = fill(max(m-1, 0)*p.ldc + n + 3)
	p.a = fill((m-1)*p.rowA + (k-1)*p.colA + 1)
	switch r.IntN(3) {
	case 0:
		p.b = Packed(fill(PackedLen(k, n)), k)
	case 1:
		ld := n + r.IntN(5)
		p.b = RowMajor(fill((k-1)*ld+n), ld)
	case 2:
		p.b = B{PanelStride: Lanes*k + r.IntN(40), RowStride: Lanes}
		p.b.Data = fill((n+Lanes-1)/Lanes*p.b.PanelStride + Lanes*k)
	}
	return p
}

func (p product) mustMatchPlain(t *testing.T) {
	t.Helper()
	got, want := p.run(Gemm), p.run(gemmPlain)
	if i := diff(got, want); i >= 0 {
		t.Fatalf("%v: c[%d] = %v, plain %v", p, i, got[i], want[i])
	}
}

func TestGemmMatchesPlain(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for m := range 26 { // every height of tile, and what follows the tallest
			for n := 1; n < 150; n += 1 + r.IntN(7) {
				randomProduct(r, m, n, r.IntN(20), 0).mustMatchPlain(t)
			}
		}
		for range 300 {
			randomProduct(r, r.IntN(71), r.IntN(71), r.IntN(71), 0).mustMatchPlain(t)
			randomProduct(r, r.IntN(20), r.IntN(71), r.IntN(9), 20).mustMatchPlain(t)
		}
	})
}

func TestGemmValues(t *testing.T) {
	onEveryPath(t, func(t *testing.T, r *rand.Rand) {
		const m, n, k = 13, 37, 50
		a, w, c := random(r, m*k), random(r, k*n), random(r, m*n)
		want := wide(c)
		for i := range want {
			for kk := range k {
				want[i] += float64(a[i/n*k+kk]) * float64(w[kk*n+i%n])
			}
		}
		Gemm(c, n, a, k, 1, RowMajor(w, n), m, n, k, true)
		near(t, "c", c, want)
	})
}

// By hand: [1 2; 3 4; 5 6] times [1 0 2; 0 1 3].
func TestGemmByHand(t *testing.T) {
	onEveryPath(t, func(t *testing.T, _ *rand.Rand) {
		a, w := []float32{1, 2, 3, 4, 5, 6}, []float32{1, 0, 2, 0, 1, 3}
		c := make([]float32, 9)
		Gemm(c, 3, a, 2, 1, RowMajor(w, 3), 3, 3, 2, false)
		if want := []float32{1, 2, 8, 3, 4, 18, 5, 6, 28}; !slices.Equal(c, want) {
			t.Errorf("c = %v, want %v", c, want)
		}
		packed := make([]float32, PackedLen(2, 3))
		PackT(packed, []float32{1, 0, 0, 1, 2, 3}, 2, 3, 2)
		Gemm(c, 3, a, 2, 1, Packed(packed, 2), 3, 3, 2, true)
		if want := []float32{2, 4, 16, 6, 8, 36, 10, 12, 56}; !slices.Equal(c, want) {
			t.Errorf("c = %v, want %v", c, want)
		}
	})
}

// The bitwise law: cutting a product by rows, by columns or between chains, or sharing it over threads, changes no bit.
func TestGemmCutsChangeNoBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		defer SetPath(rapid.SampledFrom(Paths()).Draw(t, "path"))()
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		draw := func(name string, high int) int { return rapid.IntRange(1, high).Draw(t, name) }
		p := randomProduct(r, draw("m", 30), draw("n", 80), draw("k", 3*Chain), 0)
		whole := p.run(Gemm)
		m, n := rapid.IntRange(0, p.m).Draw(t, "row"), rapid.IntRange(0, p.n/16).Draw(t, "panel")
		k := min(p.k, rapid.IntRange(1, 3).Draw(t, "chains")*Chain)

		parts := product{c: slices.Clone(p.c)}
		for _, rows := range [][2]int{{0, m}, {m, p.m}} {
			for _, cols := range [][2]int{{0, 16 * n}, {16 * n, p.n}} {
				if rows[0] == rows[1] || cols[0] == cols[1] {
					continue
				}
				b := p.b
				b.Data = b.Data[cols[0]/16*b.PanelStride:]
				for _, depth := range [][2]int{{0, k}, {k, p.k}} {
					if depth[0] == depth[1] {
						continue
					}
					d := b
					d.Data = d.Data[depth[0]*d.RowStride:]
					Gemm(parts.c[rows[0]*p.ldc+cols[0]:], p.ldc, p.a[rows[0]*p.rowA+depth[0]*p.colA:], p.rowA, p.colA, d,
						rows[1]-rows[0], cols[1]-cols[0], depth[1]-depth[0], p.accumulate || depth[0] > 0)
				}
			}
		}
		if i := diff(parts.c, whole); i >= 0 {
			t.Fatalf("%v in parts: c[%d] = %v, whole %v", p, i, parts.c[i], whole[i])
		}
	})
}

// One term of 2^24 swallows the ones of its own chain, not those of the next, and of an old value nothing but whole chains.
func TestGemmAddsChainByChain(t *testing.T) {
	onEveryPath(t, func(t *testing.T, _ *rand.Rand) {
		const k = 2*Chain + 5
		a, w := slices.Repeat([]float32{1}, k), slices.Repeat([]float32{1}, k)
		a[0] = 0x1p24
		c := []float32{0}
		Gemm(c, 1, a, k, 1, RowMajor(w, 1), 1, 1, k, false)
		if want := float32(0x1p24 + Chain + 4); c[0] != want { // 2^24+192 lies on the grid of 2, 2^24+197 rounds down to even
			t.Errorf("from zero: %v, want %v", c[0], want)
		}
		c, a[0] = []float32{0x1p24}, 1
		Gemm(c, 1, a, k, 1, RowMajor(w, 1), 1, 1, k, true)
		if want := float32(0x1p24 + 2*Chain + 4); c[0] != want {
			t.Errorf("added: %v, want %v", c[0], want)
		}
	})
}

// A chain of products that are -0 adds +0, so only an old value can leave a -0, and only where nothing is added to it.
func TestGemmSignsZeros(t *testing.T) {
	negative := float32(math.Copysign(0, -1))
	onEveryPath(t, func(t *testing.T, _ *rand.Rand) {
		for _, c := range []struct {
			k          int
			accumulate bool
			old, want  float32
		}{
			{0, false, 7, 0}, {0, false, negative, 0}, {0, true, 7, 7}, {0, true, negative, negative},
			{1, false, negative, 0}, {1, true, negative, 0}, {Chain + 1, true, negative, 0},
		} {
			got := slices.Repeat([]float32{c.old}, 3*17)
			Gemm(got, 17, slices.Repeat([]float32{negative}, 3*c.k), c.k, 1, RowMajor(slices.Repeat([]float32{1}, 17*c.k), 17), 3, 17, c.k, c.accumulate)
			if i := diff(got, slices.Repeat([]float32{c.want}, len(got))); i >= 0 {
				t.Errorf("K=%d accumulate=%v to %v: c[%d] = %v, want %v", c.k, c.accumulate, c.old, i, got[i], c.want)
			}
		}
	})
}

func TestPoolGemmChangesNoBit(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for threads := 1; threads <= 4; threads++ {
		pool := NewPool(threads)
		for _, s := range [][3]int{
			{1, 1, 1}, {200, 50, 40}, {64, 700, 30}, {3, 3000, 100}, {500, 17, 90}, {1, 8000, 40},
			{0, 5, 5}, {5, 0, 5}, {5, 5, 0},
		} {
			p := randomProduct(r, s[0], s[1], s[2], 0)
			got, want := p.run(pool.Gemm), p.run(Gemm)
			if i := diff(got, want); i >= 0 {
				t.Fatalf("%d threads, %v: c[%d] = %v, want %v", threads, p, i, got[i], want[i])
			}
		}
		pool.Close()
	}
}

func TestGemmRefusesShortSlices(t *testing.T) {
	ok := func() product {
		return product{c: make([]float32, 2*20+18), ldc: 20, a: make([]float32, 2*5+4), rowA: 5, colA: 1,
			b: Packed(make([]float32, 4*16+3*16+2), 4), m: 3, n: 18, k: 4}
	}
	ok().run(Gemm)
	for name, spoil := range map[string]func(p *product){
		"c":                func(p *product) { p.c = p.c[1:] },
		"a":                func(p *product) { p.a = p.a[1:] },
		"b":                func(p *product) { p.b.Data = p.b.Data[1:] },
		"ldc":              func(p *product) { p.ldc = 17 },
		"negative stride":  func(p *product) { p.rowA = -1 },
		"negative size":    func(p *product) { p.k = -1 },
		"overlapping rows": func(p *product) { p.b = B{Data: make([]float32, 40), PanelStride: 1, RowStride: 16} },
	} {
		p := ok()
		spoil(&p)
		if text := panicText(func() { p.run(Gemm) }); !strings.HasPrefix(text, "kernel: Gemm: ") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// panicText is what f panics with, "" for nothing.
func panicText(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

func FuzzGemm(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(64), uint8(32))
	f.Add(uint64(2), uint8(60), uint8(45), uint8(70))
	f.Fuzz(func(t *testing.T, seed uint64, m, n, k uint8) {
		for _, path := range Paths()[1:] {
			restore := SetPath(path)
			randomProduct(rand.New(rand.NewPCG(seed, 1)), int(m), int(n), int(k), 15).mustMatchPlain(t)
			restore()
		}
	})
}
