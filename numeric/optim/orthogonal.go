package optim

import (
	"math"

	"molt/numeric/kernel"
)

// The iteration x <- a x + (b G + c G²) x with G = x xᵀ maps each singular value s of x to a s + b s³ + c s⁵. These
// coefficients (Jordan 2024) climb steeply at 0 and never settle: five rounds take singular values from 0.005 to 1 of the
// Frobenius norm into 0.68 to 1.16, which trains as well as all ones. The original, through Dion, has coefficients of its
// own for each round, which end closer to 1; these are the ones that PyTorch's Muon can check.
const (
	schulzA, schulzB, schulzC = 3.4445, -4.7750, 2.0315
	schulzRounds              = 5
	schulzEps                 = 1e-7 // least norm to divide by: a gradient of 0 steps nowhere
)

// scratch is a thread's memory for one matrix on its way to an orthogonal one, and for one piece's moments.
type scratch struct {
	x, next      []float32 // [rows, cols]
	gram, square []float32 // [r, r], r the smaller of rows and cols
	packed       []float32 // xᵀ as an operand, where rows < cols
	m, v         []float32 // [kernel.SumChunk] where moments are kept in bfloat16
}

// room is how large the scratch must be, in floats.
type room struct{ matrix, gram, packed, piece int }

func (r room) floats() int { return 2*pad(r.matrix) + 2*pad(r.gram) + pad(r.packed) + 2*pad(r.piece) }

func roomFor(params []Param, rules []rule, c Config) (r room) {
	if c.Adam.BF16 {
		r.piece = kernel.SumChunk
	}
	for i, p := range params {
		if rules[i].method != muon {
			continue
		}
		rows, cols := p.Shape[0], p.Shape[1]
		small := min(rows, cols)
		r.matrix, r.gram = max(r.matrix, rows*cols), max(r.gram, small*small)
		if rows < cols {
			r.packed = max(r.packed, kernel.PackedLen(cols, rows))
		}
	}
	return r
}

func (r room) allocate(arena *kernel.Arena) scratch {
	return scratch{
		x: arena.Floats(r.matrix), next: arena.Floats(r.matrix),
		gram: arena.Floats(r.gram), square: arena.Floats(r.gram), packed: arena.Floats(r.packed),
		m: arena.Floats(r.piece), v: arena.Floats(r.piece),
	}
}

// orthogonal gives the matrix nearest to s.x whose singular values are all about 1. It lives in s until the next call.
func (s *scratch) orthogonal(rows, cols int) []float32 {
	x, next := s.x[:rows*cols], s.next[:rows*cols]
	norm := math.Sqrt(kernel.SumSquares(x)) // at least the largest singular value
	kernel.Scale(x, float32(1/max(norm, schulzEps)))
	for range schulzRounds {
		s.round(next, x, rows, cols)
		x, next = next, x
	}
	return x
}

// round writes a x + (b G + c G²) x to next, or unless rows < cols a x + x (b G + c G²) with G = xᵀ x: the same matrix.
func (s *scratch) round(next, x []float32, rows, cols int) {
	r := min(rows, cols)
	gram, square := s.gram[:r*r], s.square[:r*r]
	s.multiply(gram, x, rows, cols)
	kernel.Gemm(square, r, gram, r, 1, kernel.RowMajor(gram, r), r, r, r, false)
	kernel.Scale(square, schulzC)
	kernel.Axpy(square, schulzB, gram)
	copy(next, x)
	kernel.Scale(next, schulzA)
	if rows < cols {
		kernel.Gemm(next, cols, square, r, 1, kernel.RowMajor(x, cols), rows, cols, r, true)
	} else {
		kernel.Gemm(next, cols, x, cols, 1, kernel.RowMajor(square, r), rows, cols, r, true)
	}
}

// gramRows is the number of rows that a sum over columns takes at once: they stay in cache.
const gramRows = 128

// multiply writes G: x xᵀ where rows < cols, else xᵀ x.
func (s *scratch) multiply(gram, x []float32, rows, cols int) {
	if rows < cols {
		kernel.PackT(s.packed, x, cols, rows, cols)
		kernel.Gemm(gram, rows, x, cols, 1, kernel.Packed(s.packed, cols), rows, rows, cols, false)
		return
	}
	for k := 0; k < rows; k += gramRows {
		part := x[k*cols:]
		kernel.Gemm(gram, cols, part, 1, cols, kernel.RowMajor(part, cols), cols, cols, min(gramRows, rows-k), k > 0)
	}
}
