package kernel

//go:noescape
func packRowsAVX2(dst, w *float32, ld, k, cols int)

//go:noescape
func packStripAVX2(dst, w *float32, ld, eights int)

func packRows(panel, w []float32, ld, k, cols int) {
	if active == plain {
		packRowsPlain(panel, w, ld, k, cols)
		return
	}
	packRowsAVX2(&panel[0], &w[0], ld, k, cols)
}

func packStrip(panel, w []float32, ld, rows, k int) {
	whole := k / 8 * 8
	if active == plain || rows < strip || whole == 0 {
		packStripPlain(panel, w, ld, rows, k)
		return
	}
	packStripAVX2(&panel[0], &w[0], ld, whole/8)
	if whole < k {
		packStripPlain(panel[whole*Lanes:], w[whole:], ld, rows, k-whole)
	}
}
