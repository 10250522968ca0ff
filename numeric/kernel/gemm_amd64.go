package kernel

import "unsafe"

// tileArgs are the operands of one tile of C. Strides are in bytes.
type tileArgs struct {
	c, a, b     unsafe.Pointer
	ldc         int
	rowA, colA  int
	panel, rowB int
	k           int
	last        int // columns of the last panel of a masked tile
	accumulate  bool
}

//go:noescape
func gemmAVX512(t *tileArgs, tile int)

//go:noescape
func gemmAVX2(t *tileArgs, tile int)

// tileIndex is the place of a tile in the jump tables.
func tileIndex(rows, panels int, masked bool) int {
	i := (rows-1)*16 + (panels-1)*2
	if masked {
		i++
	}
	return i
}

// tilePanels are the panels of the widest tile of each height: enough accumulators to hide the latency of a multiply-add,
// few enough to fit beside the operands.
var tilePanels = [...][]int{
	avx2:   {4, 3, 2, 1, 1, 1},
	avx512: {8, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2},
}

// Blocks: a chain of a few panels stays in the first-level cache while rows of A pass, rowsBlock by a chain of A in the
// second.
const rowsBlock = 240

// A B whose rows lie far apart maps to few cache sets, and AVX2's narrow tiles read it often. For enough rows of A it pays
// to gather each panel first.
const (
	gatherStride = 256
	gatherRows   = 48 // tiles of so many rows are one panel wide
)

// gemmVec computes the product with the wide tiles, or returns false when there are none.
func gemmVec(c []float32, ldc int, a []float32, rowA, colA int, b B, m, n, k int, accumulate bool) bool {
	if active == plain || k == 0 {
		return false
	}
	for m0 := 0; m0 < m; m0 += rowsBlock {
		rows := min(rowsBlock, m-m0)
		for k0 := 0; k0 < k; k0 += Chain {
			g := block{c: c[m0*ldc:], ldc: ldc, a: a[m0*rowA+k0*colA:], rowA: rowA, b: b.Data[k0*b.RowStride:],
				panelStride: b.PanelStride, rows: rows, cols: n}
			g.t = tileArgs{ldc: 4 * ldc, rowA: 4 * rowA, colA: 4 * colA, panel: 4 * b.PanelStride, rowB: 4 * b.RowStride,
				k: min(Chain, k-k0), last: (n-1)%Lanes + 1, accumulate: accumulate || k0 > 0}
			g.plan()
			if active == avx2 && b.RowStride >= gatherStride && rows >= gatherRows {
				g.gather(b.RowStride)
			} else {
				g.sweep()
			}
		}
	}
	return true
}

// block is a product small enough in rows and depth for the caches.
type block struct {
	t                      tileArgs
	c, a, b                []float32
	ldc, rowA, panelStride int
	rows, cols             int

	tiles, low, extra int // tiles down the rows: extra of low+1 rows, the rest of low
	width             int // panels of a tile
}

// plan spreads the rows over as few tiles as possible, evenly, because low tiles are slow.
func (g *block) plan() {
	widest := tilePanels[active]
	g.tiles = (g.rows + len(widest) - 1) / len(widest)
	g.low, g.extra = g.rows/g.tiles, g.rows%g.tiles
	g.width = widest[(g.rows-1)/g.tiles]
}

// sweep walks the panels of B in place.
func (g *block) sweep() {
	panels := (g.cols + Lanes - 1) / Lanes
	for p := 0; p < panels; p += g.width {
		g.column(p, min(g.width, panels-p), unsafe.Pointer(&g.b[p*g.panelStride]))
	}
}

// gather walks the panels of B like sweep, copying each first.
func (g *block) gather(rowStride int) {
	var near [Chain * Lanes]float32
	g.t.rowB = 4 * Lanes
	for p := 0; p*Lanes < g.cols; p++ {
		packRows(near[:], g.b[p*g.panelStride:], rowStride, g.t.k, min(Lanes, g.cols-p*Lanes))
		g.column(p, 1, unsafe.Pointer(&near))
	}
}

// column computes one tile's width of C from the top down.
func (g *block) column(panel, width int, b unsafe.Pointer) {
	t := g.t
	t.b = b
	masked := t.last < Lanes && (panel+width)*Lanes > g.cols
	row := 0
	for i := range g.tiles {
		height := g.low
		if i < g.extra {
			height++
		}
		t.a = unsafe.Pointer(&g.a[row*g.rowA])
		t.c = unsafe.Pointer(&g.c[row*g.ldc+panel*Lanes])
		if active == avx512 {
			gemmAVX512(&t, tileIndex(height, width, masked))
		} else {
			gemmAVX2(&t, tileIndex(height, width, masked))
		}
		row += height
	}
}
