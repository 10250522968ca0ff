package main

import (
	"fmt"
	"math"
	"slices"
)

// A kernel is one assembly function over slices. It is described once in values of 16 lanes, which are one register in
// AVX-512 and two in AVX2, and printed for both.
//
// Code is recorded in sections: straight-line code, or a loop over the elements of the slices whose last, partial step
// runs masked. Within a section a value may be used any number of times; acc, folded and hold carry values from one
// section to a later one.
type kernel struct {
	*listing
	params []param
	free   []int             // registers not held across sections
	ptr    map[string]string // general registers of slices and pointers
	length string            // the slice whose length loops run over
	consts map[uint32]bool   // constants the file must define
	scalar map[string]*value // scalars in memory by operand
}

// value is 16 lanes, or one number in all lanes (uniform).
type value struct {
	uniform bool
	source  string // of a scalar in memory, loaded when needed
	regs    []int  // when in registers for more than one section
}

var sliceRegs = []string{"SI", "DI", "R8", "R9", "R10", "R11"}

const indexReg, countReg, maskReg = "DX", "CX", "BX"

// define prints one kernel.
func (f *vectorFile) define(name string, params []param, body func(k *kernel)) {
	k := &kernel{listing: f.listing, params: layout(params), ptr: map[string]string{}, consts: f.consts,
		scalar: map[string]*value{}}
	for r := range k.regs {
		k.free = append(k.free, r)
	}
	k.head(name)
	for _, p := range k.params {
		switch p.kind {
		case "slice":
			k.ptr[p.name] = sliceRegs[len(k.ptr)]
			k.ins("MOVQ", fmt.Sprintf("%s_base+%d(FP)", p.name, p.off), k.ptr[p.name])
			if k.length == "" {
				k.length = fmt.Sprintf("%s_len+%d(FP)", p.name, p.off+8)
			}
		case "pointer":
			k.ptr[p.name] = sliceRegs[len(k.ptr)]
			k.ins("MOVQ", fmt.Sprintf("%s+%d(FP)", p.name, p.off), k.ptr[p.name])
		}
	}
	body(k)
	k.ins("VZEROUPPER")
	k.ins("RET")
}

func (k *kernel) head(name string) {
	k.linef("\n// func %s%s%s", name, k.isa.name, signature(k.params))
	k.linef("TEXT ·%s%s(SB), NOSPLIT, $0-%d", name, k.isa.name, frameSize(k.params))
}

// num is a constant.
func (k *kernel) num(x float32) *value { return k.bits(math.Float32bits(x)) }

// bits is a constant given as its 32 bits.
func (k *kernel) bits(b uint32) *value {
	k.consts[b] = true
	return k.memory(fmt.Sprintf("c%08x<>(SB)", b))
}

// arg is a scalar parameter.
func (k *kernel) arg(name string) *value {
	return k.memory(k.operand(name))
}

// field is a float32 field, named as in go_asm.h, of the struct that a pointer parameter points to.
func (k *kernel) field(pointer, symbol string) *value {
	return k.memory(fmt.Sprintf("%s(%s)", symbol, k.ptr[pointer]))
}

func (k *kernel) memory(source string) *value {
	if k.scalar[source] == nil {
		k.scalar[source] = &value{uniform: true, source: source}
	}
	return k.scalar[source]
}

// acc is 16 lanes that start at x and that sections accumulate to.
func (k *kernel) acc(x *value) *value {
	v := &value{regs: k.take(k.parts())}
	for _, r := range v.regs {
		k.ins("VBROADCASTSS", x.source, k.v(r))
	}
	return v
}

// parts is the number of registers of 16 lanes.
func (k *kernel) parts() int { return 16 / k.floats }

// take removes n registers from those that sections may use.
func (k *kernel) take(n int) []int {
	regs := slices.Clone(k.free[:n])
	k.free = k.free[n:]
	return regs
}

func (k *kernel) release(v *value) { k.free = append(k.free, v.regs...); v.regs = nil }

// straight records code that runs once.
func (k *kernel) straight(body func(s *section)) {
	s := &section{kernel: k}
	body(s)
	s.print()
}

// loop records code that runs for each 16 elements of the slices, masked for the last few.
func (k *kernel) loop(body func(s *section)) {
	step, rest := &section{kernel: k}, &section{kernel: k, masked: true}
	body(step)
	body(rest)
	hoisted := k.hoist(step, rest)
	again, last, done := k.fresh("step"), k.fresh("rest"), k.fresh("done")
	k.ins("MOVQ", k.length, countReg)
	k.ins("XORL", indexReg, indexReg)
	k.ins("SUBQ", "$16", countReg)
	k.ins("JLT", last)
	k.label(again)
	step.print()
	k.ins("ADDQ", "$64", indexReg)
	k.ins("SUBQ", "$16", countReg)
	k.ins("JGE", again)
	k.label(last)
	k.ins("ADDQ", "$16", countReg)
	k.ins("JEQ", done)
	k.maskFor(countReg, maskReg)
	rest.print()
	k.label(done)
	for _, v := range hoisted {
		k.release(v)
	}
}

// hoist loads the scalars of a loop into registers before it, as many as leave room for the loop.
func (k *kernel) hoist(sections ...*section) []*value {
	scalars := sections[0].scalars()
	for n := min(len(scalars), len(k.free)); ; n-- {
		for i, v := range scalars {
			v.regs = nil
			if i < n {
				v.regs = k.free[i : i+1]
			}
		}
		if fits(k.free[n:], sections) {
			for _, v := range scalars[:n] {
				v.regs = k.take(1)
				k.ins("VBROADCASTSS", v.source, k.v(v.regs[0]))
			}
			return scalars[:n]
		}
		if n == 0 {
			panic("gen: a loop needs more registers than there are")
		}
	}
}

func fits(free []int, sections []*section) bool {
	return !slices.ContainsFunc(sections, func(s *section) bool { return !s.assign(free, false) })
}
