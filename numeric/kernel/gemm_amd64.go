package kernel

import "unsafe"

// tileArgs are the operands of one tile of C. Strides are in bytes.
type tileArgs struct {
	c, a, b     unsafe.Pointer
	ldc         int
	rowA, colA  int
	panel, rowB int
	k           int
	last        int // columns of the last panel, for masked tiles
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

// Block sizes: a pair of panels by depthBlock stays in the first-level cache while rows of A stream past it; rowsBlock by
// depthBlock of A stays in the second.
const (
	depthBlock = 384
	rowsBlock  = 240
)

func gemmVec(c []float32, ldc int, a []float32, rowA, colA int, b B, m, n, k int, accumulate bool) bool {
	if active == plain || k == 0 {
		return false
	}
	wide := active == avx512
	t := tileArgs{ldc: 4 * ldc, rowA: 4 * rowA, colA: 4 * colA, panel: 4 * b.PanelStride, rowB: 4 * b.RowStride}
	for m0 := 0; m0 < m; m0 += rowsBlock {
		rows := min(rowsBlock, m-m0)
		for k0 := 0; k0 < k; {
			depth := (k - k0 + (k-k0+depthBlock-1)/depthBlock - 1) / ((k - k0 + depthBlock - 1) / depthBlock)
			t.k = depth
			t.accumulate = accumulate || k0 > 0
			gemmBlock(&t, wide, c[m0*ldc:], ldc, a[m0*rowA+k0*colA:], rowA, b.Data[k0*b.RowStride:], b.PanelStride, rows, n)
			k0 += depth
		}
	}
	return true
}

var maxPanels = [2][12]int{{4, 3, 2, 1, 1, 1}, {8, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2}}

func gemmBlock(t *tileArgs, wide bool, c []float32, ldc int, a []float32, rowA int, b []float32, panelStride, m, n int) {
	tall, table := 6, &maxPanels[0]
	if wide {
		tall, table = 12, &maxPanels[1]
	}
	count := (m + tall - 1) / tall
	small, extra := m/count, m%count
	tallest := small
	if extra > 0 {
		tallest++
	}
	panels := (n + 15) / 16
	width := table[tallest-1]
	t.last = n - (panels-1)*16
	for p := 0; p < panels; p += width {
		w := min(width, panels-p)
		masked := p+w == panels && t.last != 16
		t.b = unsafe.Pointer(&b[p*panelStride])
		row := 0
		for i := range count {
			h := small
			if i < extra {
				h++
			}
			t.a = unsafe.Pointer(&a[row*rowA])
			t.c = unsafe.Pointer(&c[row*ldc+p*16])
			if wide {
				gemmAVX512(t, tileIndex(h, w, masked))
			} else {
				gemmAVX2(t, tileIndex(h, w, masked))
			}
			row += h
		}
	}
}
