package optim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molt/numeric/kernel"
)

// orthogonalOf runs the iteration on x [rows, cols], which it leaves alone.
func orthogonalOf(t *testing.T, x []float32, rows, cols int) []float32 {
	p := Param{Name: "w", Shape: []int{rows, cols}}
	arena := kernel.NewArena(0)
	t.Cleanup(arena.Free)
	s := roomFor([]Param{p}, []rule{{method: muon}}, Config{}).allocate(arena)
	copy(s.x, x)
	return s.orthogonal(rows, cols)
}

func gaussian(seed uint64, n int) []float32 {
	random := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(random.NormFloat64())
	}
	return x
}

// TestSingularValues stretches unit vectors by an orthogonal matrix's long side: every length is a mean of singular values.
func TestSingularValues(t *testing.T) {
	for _, shape := range [][2]int{{64, 16}, {16, 64}, {40, 33}, {33, 40}, {1, 50}, {50, 1}, {700, 120}, {120, 700}} {
		rows, cols := shape[0], shape[1]
		x := orthogonalOf(t, gaussian(3, rows*cols), rows, cols)
		short := min(rows, cols)
		for trial := range uint64(5) {
			v := gaussian(trial, short)
			var length, image float64
			for _, a := range v {
				length += float64(a) * float64(a)
			}
			for l := range max(rows, cols) {
				dot := 0.0
				for k := range short {
					if rows > cols {
						dot += float64(x[l*cols+k]) * float64(v[k])
					} else {
						dot += float64(x[k*cols+l]) * float64(v[k])
					}
				}
				image += dot * dot
			}
			if s := math.Sqrt(image / length); s < 0.68 || s > 1.21 {
				t.Errorf("%v: a unit vector became one of length %v", shape, s)
			}
		}
	}
}

// TestDiagonal follows the polynomial itself: a diagonal matrix stays one, and each entry is a singular value.
func TestDiagonal(t *testing.T) {
	const n = 4
	values := [n]float64{0.9, 0.4, 0.15, 0.02}
	x := make([]float32, n*n)
	norm := 0.0
	for i, s := range values {
		x[i*n+i] = float32(s)
		norm += s * s
	}
	got := orthogonalOf(t, x, n, n)
	for i, s := range values {
		want := s / math.Sqrt(norm)
		for range 5 {
			want = 3.4445*want - 4.7750*math.Pow(want, 3) + 2.0315*math.Pow(want, 5)
		}
		if math.Abs(float64(got[i*n+i])-want) > 2e-6 {
			t.Errorf("singular value %v became %v; want %v", s, got[i*n+i], want)
		}
	}
	for i, a := range got {
		if i%(n+1) != 0 && a != 0 {
			t.Errorf("element %d became %v", i, a)
		}
	}
}

// TestSizeDoesNotMatter: gradients a power of two larger give the same bits, and none at all give zeros.
func TestSizeDoesNotMatter(t *testing.T) {
	x := gaussian(5, 24*31)
	want := slices.Clone(orthogonalOf(t, x, 24, 31))
	for _, factor := range []float32{1 << 20, 1.0 / (1 << 20)} {
		scaled := slices.Clone(x)
		kernel.Scale(scaled, factor)
		if got := orthogonalOf(t, scaled, 24, 31); !slices.Equal(got, want) {
			t.Errorf("times %v: other bits", factor)
		}
	}
	for i, a := range orthogonalOf(t, make([]float32, 24*31), 24, 31) {
		if a != 0 {
			t.Fatalf("element %d of a zero matrix became %v", i, a)
		}
	}
}

// TestTransposed: a tall matrix goes another way through memory than its wide transpose, to the same numbers.
func TestTransposed(t *testing.T) {
	const rows, cols = 45, 19
	tall := gaussian(6, rows*cols)
	wide := make([]float32, rows*cols)
	for r := range rows {
		for c := range cols {
			wide[c*rows+r] = tall[r*cols+c]
		}
	}
	a, b := orthogonalOf(t, tall, rows, cols), orthogonalOf(t, wide, cols, rows)
	for r := range rows {
		for c := range cols {
			if d := math.Abs(float64(a[r*cols+c] - b[c*rows+r])); d > 1e-5 {
				t.Fatalf("element %d, %d differs by %v", r, c, d)
			}
		}
	}
}
