//go:build !amd64

package kernel

func packRows(panel, w []float32, ld, k, cols int)  { packRowsPlain(panel, w, ld, k, cols) }
func packStrip(panel, w []float32, ld, rows, k int) { packStripPlain(panel, w, ld, rows, k) }
