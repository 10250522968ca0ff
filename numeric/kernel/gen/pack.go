package main

import "fmt"

// packText is the assembly that copies matrices into panels. It moves data only, so AVX2 serves every wide path.
func packText() string {
	l := newListing(avx2)
	l.packRows()
	l.packStrip()
	l.maskTable()
	return l.text.String()
}

// packRows prints the copy of k rows, ld floats apart, of one panel of cols columns; the other columns become zero.
func (l *listing) packRows() {
	l.linef("\n// func packRowsAVX2(dst, w *float32, ld, k, cols int)")
	l.linef("TEXT ·packRowsAVX2(SB), NOSPLIT, $0-40")
	for i, arg := range []string{"dst", "w", "ld", "k", "cols"} {
		l.ins("MOVQ", fmt.Sprintf("%s+%d(FP)", arg, 8*i), []string{"DI", "SI", "DX", "R8", "CX"}[i])
	}
	l.ins("SHLQ", "$2", "DX")
	l.maskFor("CX", "BX")
	l.ins("VMOVUPS", "(BX)", "Y2")
	l.ins("VMOVUPS", "32(BX)", "Y3")
	l.label("row")
	for part := range 2 {
		l.ins("VMASKMOVPS", mem(32*part, "SI"), l.v(2+part), l.v(part))
		l.ins("VMOVUPS", l.v(part), mem(32*part, "DI"))
	}
	l.ins("ADDQ", "DX", "SI")
	l.ins("ADDQ", "$64", "DI")
	l.ins("DECQ", "R8")
	l.ins("JNE", "row")
	l.ins("VZEROUPPER")
	l.ins("RET")
}

// packStrip prints the transpose of 8 rows, ld floats apart, into 8 columns of a panel: eight by eight at a time.
func (l *listing) packStrip() {
	l.linef("\n// func packStripAVX2(dst, w *float32, ld, eights int)")
	l.linef("TEXT ·packStripAVX2(SB), NOSPLIT, $0-32")
	for i, arg := range []string{"dst", "w", "ld", "eights"} {
		l.ins("MOVQ", fmt.Sprintf("%s+%d(FP)", arg, 8*i), []string{"DI", "SI", "BX", "CX"}[i])
	}
	l.ins("SHLQ", "$2", "BX")
	l.ins("LEAQ", "(BX)(BX*2)", "DX")
	l.ins("LEAQ", "(SI)(BX*4)", "R8")
	l.label("block")
	for r := range 8 {
		from := []string{"SI", "R8"}[r/4]
		l.ins("VMOVUPS", []string{mem(0, from), mem(0, from, "BX*1"), mem(0, from, "BX*2"), mem(0, from, "DX*1")}[r%4], l.v(r))
	}
	for r := 0; r < 8; r += 2 { // pairs of rows: k 0,1,4,5 and k 2,3,6,7
		l.ins("VUNPCKLPS", l.v(r+1), l.v(r), l.v(8+r))
		l.ins("VUNPCKHPS", l.v(r+1), l.v(r), l.v(9+r))
	}
	for r := 0; r < 8; r += 4 { // four rows: register r+i has k = i and i+4
		for i := range 4 {
			low, high := "$0x44", "$0xee"
			l.ins("VSHUFPS", []string{low, high}[i%2], l.v(8+r+2+i/2), l.v(8+r+i/2), l.v(r+i))
		}
	}
	for k := range 8 {
		halves := []string{"$0x20", "$0x31"}[k/4]
		l.ins("VPERM2F128", halves, l.v(4+k%4), l.v(k%4), l.v(8+k))
		l.ins("VMOVUPS", l.v(8+k), mem(64*k, "DI"))
	}
	l.ins("ADDQ", "$32", "SI")
	l.ins("ADDQ", "$32", "R8")
	l.ins("ADDQ", "$512", "DI")
	l.ins("DECQ", "CX")
	l.ins("JNE", "block")
	l.ins("VZEROUPPER")
	l.ins("RET")
}
