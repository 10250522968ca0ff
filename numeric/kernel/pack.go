package kernel

import "fmt"

// PackedLen is the number of floats of a packed [K,N] operand: N rounded up to whole panels, times K.
func PackedLen(k, n int) int { return (n + Lanes - 1) / Lanes * Lanes * k }

// Packed views data, as Pack and PackT write it, as a [K,N] operand.
func Packed(data []float32, k int) B { return B{Data: data, PanelStride: Lanes * k, RowStride: Lanes} }

// Pack writes w [K,N], row-major with rows ld apart, to dst as panels of 16 columns; columns past N become zero.
func Pack(dst, w []float32, ld, k, n int) {
	checkPack("Pack", dst, w, ld, k, n, k, n)
	for n0 := 0; n0 < n && k > 0; n0 += Lanes {
		packRows(dst[n0*k:][:Lanes*k], w[n0:], ld, k, min(Lanes, n-n0))
	}
}

func packRowsPlain(panel, w []float32, ld, k, cols int) {
	for kk := range k {
		row := panel[kk*Lanes:][:Lanes]
		clear(row[copy(row, w[kk*ld:][:cols]):])
	}
}

// PackT writes the transpose of w [N,K], row-major with rows ld apart (a linear layer's weight, or N keys), to dst as
// the panels of a [K,N] operand; columns past N become zero.
func PackT(dst, w []float32, ld, n, k int) {
	checkPack("PackT", dst, w, ld, n, k, k, n)
	for n0 := 0; n0 < n && k > 0; n0 += strip {
		panel := dst[n0/Lanes*Lanes*k:][:Lanes*k]
		packStrip(panel[n0%Lanes:], w[n0*ld:], ld, min(strip, n-n0), k)
	}
	for column := n; column%Lanes != 0; column++ {
		for kk := range k {
			dst[column/Lanes*Lanes*k+kk*Lanes+column%Lanes] = 0
		}
	}
}

// strip is the number of columns of a panel that PackT fills together.
const strip = 8

// packStripPlain writes the elements of rows of w as columns of a panel.
func packStripPlain(panel, w []float32, ld, rows, k int) {
	for j := range rows {
		for kk, x := range w[j*ld:][:k] {
			panel[kk*Lanes+j] = x
		}
	}
}

// PackColumn writes x [K] as column n of the packed [K,N] operand dst: one key appended to a page of keys.
func PackColumn(dst, x []float32, n int) {
	k := len(x)
	if n < 0 || len(dst) < PackedLen(k, n+1) {
		panic(fmt.Sprintf("kernel: PackColumn: column %d of K=%d needs dst[%d], got %d", n, k, PackedLen(k, n+1), len(dst)))
	}
	column := dst[n/Lanes*Lanes*k+n%Lanes:]
	for kk, v := range x {
		column[kk*Lanes] = v
	}
}

func checkPack(what string, dst, w []float32, ld, rows, cols, k, n int) {
	need := 0
	if rows > 0 && cols > 0 {
		need = (rows-1)*ld + cols
	}
	if k < 0 || n < 0 || (rows > 1 && ld < cols) || len(w) < need || len(dst) < PackedLen(k, n) {
		panic(fmt.Sprintf("kernel: %s: K=%d N=%d ld=%d needs w[%d] dst[%d], got w[%d] dst[%d]",
			what, k, n, ld, need, PackedLen(k, n), len(w), len(dst)))
	}
}
