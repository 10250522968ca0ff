package kernel

// Gemm is the package's Gemm with the outputs shared over the pool: the same bits at any thread count.
func (p *Pool) Gemm(c []float32, ldc int, a []float32, rowA, colA int, b B, m, n, k int, accumulate bool) {
	checkGemm(c, ldc, a, rowA, colA, b, m, n, k)
	p.gemm = gemmTask{c: c, ldc: ldc, a: a, rowA: rowA, colA: colA, b: b, m: m, n: n, k: k, accumulate: accumulate}
	p.gemm.split(p.Threads())
	p.Run(p.gemm.rowParts*p.gemm.colParts, &p.gemm)
	p.gemm = gemmTask{}
}

// gemmTask cuts C into a grid of rectangles, one an item.
type gemmTask struct {
	c, a               []float32
	b                  B
	ldc, rowA, colA    int
	m, n, k            int
	accumulate         bool
	rowParts, rows     int // parts and rows of a part
	colParts, partCols int // parts and columns of a part, a multiple of the panel
}

const (
	rowUnit     = 12      // rows of the tallest tile
	colUnit     = 64      // columns of the widest common tile
	partProduct = 1 << 17 // multiply-adds that are worth handing to another thread
)

// split aims at a few parts a thread: columns first, because then each thread streams its own share of B.
func (t *gemmTask) split(threads int) {
	want := min(2*threads, t.m*t.n*t.k/partProduct)
	if threads == 1 {
		want = 1
	}
	t.colParts, t.partCols = cut(t.n, colUnit, want)
	t.rowParts, t.rows = cut(t.m, rowUnit, want/max(t.colParts, 1))
}

// cut divides size into at most parts pieces, each a multiple of unit but for the last.
func cut(size, unit, parts int) (n, piece int) {
	if size == 0 {
		return 0, 0
	}
	units := (size + unit - 1) / unit
	piece = (units + max(parts, 1) - 1) / max(parts, 1) * unit
	return (size + piece - 1) / piece, piece
}

// Do computes one rectangle.
func (t *gemmTask) Do(item, _ int) {
	m0, n0 := item%t.rowParts*t.rows, item/t.rowParts*t.partCols
	b := t.b
	if t.k > 0 {
		b.Data = b.Data[n0/Lanes*b.PanelStride:]
	}
	a := t.a
	if t.k > 0 {
		a = a[m0*t.rowA:]
	}
	Gemm(t.c[m0*t.ldc+n0:], t.ldc, a, t.rowA, t.colA, b, min(t.rows, t.m-m0), min(t.partCols, t.n-n0), t.k, t.accumulate)
}
