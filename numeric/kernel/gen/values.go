package main

import "fmt"

// The operations that kernels are described in. Results are new values; arguments stay usable.

func (s *section) record(o *op) *value {
	s.ops = append(s.ops, o)
	return o.out
}

// binary records one instruction; Go's operand order puts the first operand of a difference or quotient second.
func (s *section) binary(ins string, x, y *value) *value {
	return s.record(&op{
		out:  &value{uniform: x.uniform && y.uniform},
		args: []*value{x, y},
		emit: func(r []string, out string, _ int) { s.ins(ins, r[1], r[0], out) },
	})
}

func (s *section) sum(x, y *value) *value        { return s.binary("VADDPS", x, y) }
func (s *section) difference(x, y *value) *value { return s.binary("VSUBPS", x, y) }
func (s *section) product(x, y *value) *value    { return s.binary("VMULPS", x, y) }
func (s *section) quotient(x, y *value) *value   { return s.binary("VDIVPS", x, y) }
func (s *section) larger(x, y *value) *value     { return s.binary("VMAXPS", x, y) }
func (s *section) smaller(x, y *value) *value    { return s.binary("VMINPS", x, y) }

func (s *section) unary(ins string, x *value) *value {
	return s.record(&op{
		out:  &value{uniform: x.uniform},
		args: []*value{x},
		emit: func(r []string, out string, _ int) { s.ins(ins, r[0], out) },
	})
}

func (s *section) root(x *value) *value { return s.unary("VSQRTPS", x) }

// fma is x*y + z rounded once.
func (s *section) fma(x, y, z *value) *value {
	uniform := x.uniform && y.uniform && z.uniform
	return s.record(&op{out: &value{uniform: uniform}, args: []*value{x, y, z}, fused: true})
}

// negated flips the sign bit.
func (s *section) negated(x *value) *value { return s.binary("VXORPS", x, s.bits(1<<31)) }

// accumulate is acc += x.
func (s *section) accumulate(acc, x *value) {
	s.record(&op{out: acc, args: []*value{x, acc}, emit: func(r []string, out string, _ int) { s.ins("VADDPS", r[0], r[1], out) }})
}

// accumulateProduct is acc = fma(x, y, acc).
func (s *section) accumulateProduct(acc, x, y *value) {
	s.record(&op{out: acc, args: []*value{x, y, acc}, fused: true})
}

// accumulateLarger is acc = larger(x, acc).
func (s *section) accumulateLarger(acc, x *value) {
	s.record(&op{out: acc, args: []*value{x, acc}, emit: func(r []string, out string, _ int) { s.ins("VMAXPS", r[1], r[0], out) }})
}

// hold keeps a uniform value for later sections.
func (s *section) hold(x *value) *value {
	v := &value{uniform: true, regs: s.take(1)}
	return s.record(&op{out: v, args: []*value{x}, emit: func(r []string, out string, _ int) { s.ins("VMOVAPS", r[0], out) }})
}

// load reads 16 elements of a slice; lanes past the end are zero.
func (s *section) load(name string) *value {
	return s.record(&op{out: &value{}, emit: func(_ []string, out string, part int) {
		from := s.address(name, part)
		switch {
		case !s.masked:
			s.ins("VMOVUPS", from, out)
		case s.isa == avx512:
			s.ins("VMOVUPS.Z", from, "K1", out)
		default:
			s.ins("VMOVUPS", s.maskWords(part), out)
			s.ins("VMASKMOVPS", from, out, out)
		}
	}})
}

// store writes 16 elements of a slice, none past the end.
func (s *section) store(name string, x *value) {
	s.record(&op{args: []*value{x}, temp: s.masked && s.isa == avx2, emit: func(r []string, _ string, part int) {
		to := s.address(name, part)
		switch {
		case !s.masked:
			s.ins("VMOVUPS", r[0], to)
		case s.isa == avx512:
			s.ins("VMOVUPS", r[0], "K1", to)
		default:
			s.ins("VMOVUPS", s.maskWords(part), r[1])
			s.ins("VMASKMOVPS", r[0], r[1], to)
		}
	}})
}

// storeOne writes one number to where a pointer parameter points.
func (s *section) storeOne(name string, x *value) {
	s.record(&op{args: []*value{x}, emit: func(r []string, _ string, _ int) {
		s.ins("VMOVSS", "X"+r[0][1:], mem(0, s.ptr[name]))
	}})
}

// existing replaces the lanes past the end by fill.
func (s *section) existing(x, fill *value) *value {
	if !s.masked {
		return x
	}
	return s.record(&op{out: &value{}, args: []*value{x, fill}, temp: s.isa == avx2, emit: func(r []string, out string, part int) {
		if s.isa == avx512 {
			s.ins("VBLENDMPS", r[0], r[1], "K1", out)
			return
		}
		s.ins("VMOVUPS", s.maskWords(part), r[2])
		s.ins("VBLENDVPS", r[2], r[0], r[1], out)
	}})
}

// scaled is x * 2**n for whole n from -152 to 128, rounded once.
func (s *section) scaled(x, n *value) *value {
	if s.isa == avx512 {
		return s.binary("VSCALEFPS", x, n)
	}
	k := s.unary("VCVTPS2DQ", n)
	half := s.shifted("VPSRAD", 1, k)
	return s.product(s.product(x, s.power(half)), s.power(s.binary("VPSUBD", k, half)))
}

// power is 2**k for an integer k, by its bits.
func (s *section) power(k *value) *value {
	return s.shifted("VPSLLD", 23, s.binary("VPADDD", k, s.bits(127)))
}

func (s *section) shifted(ins string, by int, x *value) *value {
	return s.record(&op{out: &value{}, args: []*value{x}, emit: func(r []string, out string, _ int) {
		s.ins(ins, fmt.Sprintf("$%d", by), r[0], out)
	}})
}

// address is where part of the current 16 elements of a slice lies.
func (s *section) address(name string, part int) string {
	return mem(4*s.floats*part, s.ptr[name], indexReg+"*1")
}

func (s *section) maskWords(part int) string { return mem(4*s.floats*part, maskReg) }

// folded adds (or compares) the lanes of acc at distances 8, 4, 2, 1 and keeps the result for later sections. ins is
// VADDPS or VMAXPS. It ends acc.
func (k *kernel) folded(ins string, acc *value) *value {
	r, t := acc.regs[0], k.free[0]
	z, y, x := fmt.Sprint("Z", r), fmt.Sprint("Y", r), fmt.Sprint("X", r)
	highY, highX := fmt.Sprint("Y", t), fmt.Sprint("X", t)
	if k.isa == avx512 {
		k.ins("VEXTRACTF32X8", "$1", z, highY)
		k.ins(ins, y, highY, y)
		k.ins("VEXTRACTF32X4", "$1", y, highX)
	} else {
		k.ins(ins, y, k.v(acc.regs[1]), y)
		k.free = append(k.free, acc.regs[1])
		k.ins("VEXTRACTF128", "$1", y, highX)
	}
	k.ins(ins, x, highX, x)
	k.ins("VPERMILPS", "$0x4e", x, highX)
	k.ins(ins, x, highX, x)
	k.ins("VPERMILPS", "$0xb1", x, highX)
	k.ins(ins, x, highX, x)
	k.ins("VBROADCASTSS", x, k.v(r))
	return &value{uniform: true, regs: []int{r}}
}

// count is the length of the slices as a number.
func (k *kernel) count() *value {
	v := &value{uniform: true, regs: k.take(1)}
	x := fmt.Sprint("X", v.regs[0])
	k.ins("VXORPS", x, x, x)
	k.ins("VCVTSI2SSQ", k.length, x, x)
	k.ins("VBROADCASTSS", x, k.v(v.regs[0]))
	return v
}

// give returns a number from the kernel.
func (k *kernel) give(result string, x *value) {
	k.ins("VMOVSS", fmt.Sprint("X", x.regs[0]), k.operand(result))
}
