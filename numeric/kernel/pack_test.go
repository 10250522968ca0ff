package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPackedElements(t *testing.T) {
	for _, path := range Paths() {
		t.Run(path, func(t *testing.T) {
			defer SetPath(path)()
			r := rand.New(rand.NewPCG(5, 6))
			for range 600 {
				k, n := r.IntN(70), r.IntN(70)
				packedMatches(t, "Pack", k, n, n+r.IntN(4), r, Pack, func(w []float32, ld, k, n int) float32 { return w[k*ld+n] })
				swapped := func(dst, w []float32, ld, k, n int) { PackT(dst, w, ld, n, k) }
				packedMatches(t, "PackT", k, n, k+r.IntN(4), r, swapped, func(w []float32, ld, k, n int) float32 { return w[n*ld+k] })
			}
		})
	}
}

// packedMatches packs a random matrix and looks every element up in its panel, the padding included.
func packedMatches(t *testing.T, name string, k, n, ld int, r *rand.Rand,
	pack func(dst, w []float32, ld, k, n int), at func(w []float32, ld, k, n int) float32,
) {
	t.Helper()
	w := random(r, max(k, n)*ld)
	size := PackedLen(k, n)
	dst := random(r, size+3)
	guard := slices.Clone(dst[size:])
	pack(dst, w, ld, k, n)
	for i := range size {
		panel, row, lane := i/(Lanes*k), i/Lanes%k, i%Lanes
		want := float32(0)
		if col := panel*Lanes + lane; col < n {
			want = at(w, ld, row, col)
		}
		if dst[i] != want {
			t.Fatalf("%s k=%d n=%d ld=%d: dst[%d] = %v, want %v", name, k, n, ld, i, dst[i], want)
		}
	}
	if !slices.Equal(dst[size:], guard) {
		t.Fatalf("%s k=%d n=%d: wrote past the panels", name, k, n)
	}
}

func TestPackColumnIsPackTOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	k, n := 24, 40
	w := random(r, n*k)
	whole, single := make([]float32, PackedLen(k, n)), make([]float32, PackedLen(k, n))
	PackT(whole, w, k, n, k)
	for j := range n {
		PackColumn(single, w[j*k:][:k], j)
	}
	if i := diff(whole, single); i >= 0 {
		t.Fatalf("element %d: %v and %v", i, whole[i], single[i])
	}
}

func BenchmarkPack(b *testing.B) {
	for _, s := range [][2]int{{128, 384}, {512, 1408}} {
		k, n := s[0], s[1]
		dst, w := make([]float32, PackedLen(k, n)), make([]float32, k*n)
		b.Run(fmt.Sprintf("rows/%dx%d", k, n), func(b *testing.B) {
			b.SetBytes(int64(8 * k * n))
			for b.Loop() {
				Pack(dst, w, n, k, n)
			}
		})
		b.Run(fmt.Sprintf("transposed/%dx%d", k, n), func(b *testing.B) {
			b.SetBytes(int64(8 * k * n))
			for b.Loop() {
				PackT(dst, w, k, n, k)
			}
		})
	}
}
