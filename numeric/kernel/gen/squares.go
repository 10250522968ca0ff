package main

import "fmt"

// sumSquares prints the sum of squares in float64: 16 lanes of doubles, two registers in AVX-512 and four in AVX2.
func (f *vectorFile) sumSquares() {
	per := f.floats / 2 // doubles of a register
	n := 16 / per
	half := map[bool]string{true: "Y", false: "X"}[f.isa == avx512]
	f.linef("\n// func sumSquares%s(x []float32) float64", f.isa.name)
	f.linef("TEXT ·sumSquares%s(SB), NOSPLIT, $0-32", f.isa.name)
	f.ins("MOVQ", "x_base+0(FP)", "SI")
	f.ins("MOVQ", "x_len+8(FP)", countReg)
	for i := range n {
		f.ins("VXORPS", f.v(i), f.v(i), f.v(i))
	}
	again, last, done := f.fresh("step"), f.fresh("rest"), f.fresh("done")
	f.ins("SUBQ", "$16", countReg)
	f.ins("JLT", last)
	f.label(again)
	for i := range n {
		f.ins("VCVTPS2PD", mem(4*per*i, "SI"), f.v(n+i))
		f.ins("VFMADD231PD", f.v(n+i), f.v(n+i), f.v(i))
	}
	f.ins("ADDQ", "$64", "SI")
	f.ins("SUBQ", "$16", countReg)
	f.ins("JGE", again)
	f.label(last)
	f.ins("ADDQ", "$16", countReg)
	f.ins("JEQ", done)
	f.maskFor(countReg, maskReg)
	for i := range n {
		x := fmt.Sprint(half, n+i)
		if f.isa == avx512 {
			f.ins("VMOVUPS.Z", mem(4*per*i, "SI"), "K1", x)
			f.ins("KSHIFTRW", "$8", "K1", "K1")
		} else {
			f.ins("VMOVUPS", mem(4*per*i, maskReg), x)
			f.ins("VMASKMOVPS", mem(4*per*i, "SI"), x, x)
		}
		f.ins("VCVTPS2PD", x, f.v(n+i))
		f.ins("VFMADD231PD", f.v(n+i), f.v(n+i), f.v(i))
	}
	f.label(done)
	for ; n > 1; n /= 2 {
		for i := range n / 2 {
			f.ins("VADDPD", f.v(i+n/2), f.v(i), f.v(i))
		}
	}
	if f.isa == avx512 {
		f.ins("VEXTRACTF64X4", "$1", "Z0", "Y1")
		f.ins("VADDPD", "Y1", "Y0", "Y0")
	}
	f.ins("VEXTRACTF128", "$1", "Y0", "X1")
	f.ins("VADDPD", "X1", "X0", "X0")
	f.ins("VPERMILPD", "$1", "X0", "X1")
	f.ins("VADDSD", "X1", "X0", "X0")
	f.ins("VMOVSD", "X0", "ret+24(FP)")
	f.ins("VZEROUPPER")
	f.ins("RET")
}
