package main

import "fmt"

// tile is one register block of a matrix product: rows of A by panels of B. One accumulator register holds a chain's sum for
// part of a row of C.
type tile struct {
	rows, panels int
	masked       bool // the last panel has fewer than 16 columns
}

func (t tile) name(i isa) string {
	s := fmt.Sprintf("tile%dx%d%s", t.rows, t.panels, i.name)
	if t.masked {
		s += "masked"
	}
	return s + "<>(SB)"
}

// index is the tile's place in the jump table, as tileIndex in gemm_amd64.go computes it.
func (t tile) index() int {
	n := (t.rows-1)*16 + (t.panels-1)*2
	if t.masked {
		n++
	}
	return n
}

func tiles(i isa) []tile {
	var ts []tile
	for rows := 1; rows <= maxRows(i); rows++ {
		for panels := 1; panels <= maxPanels(i, rows); panels++ {
			ts = append(ts, tile{rows, panels, false}, tile{rows, panels, true})
		}
	}
	return ts
}

func maxRows(i isa) int {
	if i == avx512 {
		return 12
	}
	return 6
}

// maxPanels is the widest tile of a height: enough accumulators to hide the latency of a multiply-add (8 or more), few
// enough to fit beside the operands.
func maxPanels(i isa, rows int) int {
	if i == avx512 {
		return []int{8, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2}[rows-1]
	}
	return []int{4, 3, 2, 1, 1, 1}[rows-1]
}

const (
	rowBlock   = 3 // rows of A reached from one pointer, at 0, 1 and 2 row strides
	panelBlock = 3 // panels of B reached from one pointer
)

var (
	rowPointers   = []string{"SI", "R8", "R9", "R10"}
	panelPointers = []string{"DI", "R11", "R12"}
)

// gemmText is the assembly of all tiles and of the function that jumps to one.
func gemmText(i isa) string {
	l := newListing(i)
	ts := tiles(i)
	l.linef("\n// func gemm%s(t *tileArgs, tile int)", i.name)
	l.linef("TEXT ·gemm%s(SB), NOSPLIT, $0-16", i.name)
	l.ins("MOVQ", "t+0(FP)", "AX")
	l.ins("MOVQ", "tile+8(FP)", "CX")
	l.ins("LEAQ", "tiles"+i.name+"<>(SB)", "BX")
	l.ins("MOVQ", "(BX)(CX*8)", "BX")
	l.ins("JMP", "BX")
	l.linef("")
	for _, t := range ts {
		l.linef("DATA tiles%s<>+%d(SB)/8, $%s", i.name, 8*t.index(), t.name(i))
	}
	l.linef("GLOBL tiles%s<>(SB), RODATA, $%d", i.name, 8*16*maxRows(i))
	l.maskTable()
	for _, t := range ts {
		l.gemmTile(t)
	}
	return l.text.String()
}

// gemmTile writes one tile: clear the accumulators, one multiply-add each per k, add them to C.
func (l *listing) gemmTile(t tile) {
	g := newTileRegs(l, t)
	l.linef("\n// %d rows, %d panels", t.rows, t.panels)
	l.linef("TEXT %s, NOSPLIT, $0-16", t.name(l.isa))
	g.start()
	g.loop()
	g.finish()
	l.ins("VZEROUPPER")
	l.ins("RET")
}

// tileRegs assigns the vector registers of a tile. With per registers to a panel row, a step over k either keeps the B
// row and broadcasts one element of A at a time, or keeps the column of A and loads one register of B at a time:
// whichever needs fewer.
type tileRegs struct {
	*listing
	tile
	per, width int // registers of a panel row, of a tile row
	keepB      bool
	held, temp int // first register of what is kept, and the one (or two) that change
}

func newTileRegs(l *listing, t tile) *tileRegs {
	g := &tileRegs{listing: l, tile: t, per: 16 / l.floats}
	g.width = g.per * t.panels
	g.keepB = g.width <= t.rows
	g.held = t.rows * g.width
	g.temp = g.held + min(g.width, t.rows)
	return g
}

func (g *tileRegs) acc(row, reg int) string { return g.v(row*g.width + reg) }

// start clears the accumulators and loads pointers and strides.
func (g *tileRegs) start() {
	g.loadMask()
	g.ins("MOVQ", "tileArgs_c(AX)", "DI")
	g.ins("MOVQ", "tileArgs_ldc(AX)", "DX")
	g.eachRowOfC(func(row int, at func(reg int) string) {
		for reg := range g.width {
			if reg*g.floats%16 == 0 {
				g.ins("PREFETCHT0", at(reg))
			}
			g.ins("VXORPS", g.acc(row, reg), g.acc(row, reg), g.acc(row, reg))
		}
	})
	g.ins("MOVQ", "tileArgs_k(AX)", "R13")
	g.ins("MOVQ", "tileArgs_rowA(AX)", "BX")
	g.ins("MOVQ", "tileArgs_a(AX)", "SI")
	for p := 1; p*rowBlock < g.rows; p++ {
		g.ins("LEAQ", mem(0, rowPointers[p-1], "BX*2"), rowPointers[p])
		g.ins("ADDQ", "BX", rowPointers[p])
	}
	g.ins("MOVQ", "tileArgs_panel(AX)", "CX")
	g.ins("MOVQ", "tileArgs_b(AX)", "DI")
	for p := 1; p*panelBlock < g.panels; p++ {
		g.ins("LEAQ", mem(0, panelPointers[p-1], "CX*2"), panelPointers[p])
		g.ins("ADDQ", "CX", panelPointers[p])
	}
	g.ins("MOVQ", "tileArgs_rowB(AX)", "DX")
	g.ins("MOVQ", "tileArgs_colA(AX)", "AX")
}

func (g *tileRegs) loop() {
	k, done := g.fresh("k"), g.fresh("done")
	g.ins("TESTQ", "R13", "R13")
	g.ins("JEQ", done)
	g.label(k)
	if g.keepB {
		g.stepKeepingB()
	} else {
		g.stepKeepingA()
	}
	for p := 0; p*rowBlock < g.rows; p++ {
		g.ins("ADDQ", "AX", rowPointers[p])
	}
	for p := 0; p*panelBlock < g.panels; p++ {
		g.ins("ADDQ", "DX", panelPointers[p])
	}
	g.ins("DECQ", "R13")
	g.ins("JNE", k)
	g.label(done)
}

func (g *tileRegs) stepKeepingB() {
	for reg := range g.width {
		g.load(g.atB(reg), reg, g.v(g.held+reg))
	}
	for row := range g.rows {
		x := g.v(g.temp + row%min(2, g.regs-g.temp))
		g.ins("VBROADCASTSS", g.atA(row), x)
		for reg := range g.width {
			g.ins("VFMADD231PS", g.v(g.held+reg), x, g.acc(row, reg))
		}
	}
}

func (g *tileRegs) stepKeepingA() {
	for row := range g.rows {
		g.ins("VBROADCASTSS", g.atA(row), g.v(g.held+row))
	}
	for reg := range g.width {
		y := g.v(g.temp + reg%min(2, g.regs-g.temp))
		g.load(g.atB(reg), reg, y)
		for row := range g.rows {
			g.ins("VFMADD231PS", y, g.v(g.held+row), g.acc(row, reg))
		}
	}
}

// finish adds to C, or to +0 unless C is accumulated to, so that no path keeps a chain's -0.
func (g *tileRegs) finish() {
	g.ins("MOVQ", "t+0(FP)", "AX")
	g.loadMask()
	g.ins("MOVQ", "tileArgs_c(AX)", "DI")
	g.ins("MOVQ", "tileArgs_ldc(AX)", "DX")
	zero, ready := g.fresh("zero"), g.fresh("ready")
	g.ins("CMPB", "tileArgs_accumulate(AX)", "$0")
	g.ins("JEQ", zero)
	g.eachRowOfC(func(row int, at func(reg int) string) {
		for reg := range g.width {
			g.load(at(reg), reg, g.v(g.held))
			g.ins("VADDPS", g.v(g.held), g.acc(row, reg), g.acc(row, reg))
			g.store(g.acc(row, reg), reg, at(reg))
		}
	})
	g.ins("JMP", ready)
	g.label(zero)
	g.ins("VXORPS", g.v(g.held), g.v(g.held), g.v(g.held))
	g.eachRowOfC(func(row int, at func(reg int) string) {
		for reg := range g.width {
			g.ins("VADDPS", g.v(g.held), g.acc(row, reg), g.acc(row, reg))
			g.store(g.acc(row, reg), reg, at(reg))
		}
	})
	g.label(ready)
}

// eachRowOfC walks DI down the rows of C, DX bytes apart.
func (g *tileRegs) eachRowOfC(do func(row int, at func(reg int) string)) {
	for row := range g.rows {
		do(row, func(reg int) string { return mem(4*g.floats*reg, "DI") })
		if row < g.rows-1 {
			g.ins("ADDQ", "DX", "DI")
		}
	}
}

func (g *tileRegs) atA(row int) string {
	p := rowPointers[row/rowBlock]
	return [...]string{mem(0, p), mem(0, p, "BX*1"), mem(0, p, "BX*2")}[row%rowBlock]
}

func (g *tileRegs) atB(reg int) string {
	panel, disp := reg/g.per, 4*g.floats*(reg%g.per)
	p := panelPointers[panel/panelBlock]
	return [...]string{mem(disp, p), mem(disp, p, "CX*1"), mem(disp, p, "CX*2")}[panel%panelBlock]
}

// The last panel of a masked tile moves only its columns: AVX-512 under K1, AVX2 under the mask that R9 points to.
func (g *tileRegs) partial(reg int) bool { return g.masked && reg >= g.width-g.per }

func (g *tileRegs) loadMask() {
	if !g.masked {
		return
	}
	g.ins("MOVQ", "tileArgs_last(AX)", "CX")
	g.maskFor("CX", "R9")
}

func (g *tileRegs) load(from string, reg int, to string) {
	switch {
	case !g.partial(reg):
		g.ins("VMOVUPS", from, to)
	case g.isa == avx512:
		g.ins("VMOVUPS.Z", from, "K1", to)
	default:
		g.ins("VMOVUPS", g.maskWords(reg), to)
		g.ins("VMASKMOVPS", from, to, to)
	}
}

func (g *tileRegs) store(from string, reg int, to string) {
	switch {
	case !g.partial(reg):
		g.ins("VMOVUPS", from, to)
	case g.isa == avx512:
		g.ins("VMOVUPS", from, "K1", to)
	default:
		g.ins("VMOVUPS", g.maskWords(reg), g.v(g.temp))
		g.ins("VMASKMOVPS", from, g.v(g.temp), to)
	}
}

func (g *tileRegs) maskWords(reg int) string { return mem(4*g.floats*(reg%g.per), "R9") }
