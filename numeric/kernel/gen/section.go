package main

import "slices"

// section records operations on values and prints them with registers assigned.
type section struct {
	*kernel
	masked bool // the last step of a loop: only some lanes exist
	ops    []*op
}

// op is one operation. Values of 16 lanes take one register or two; emit prints the operation for one register of each.
type op struct {
	out   *value // nil for a store
	args  []*value
	fused bool // a multiply-add: out is in place of an argument
	temp  bool // needs one more register, passed as the last argument
	emit  func(regs []string, out string, part int)
}

// scalars lists the scalars in memory that the section uses, in the order of their first use.
func (s *section) scalars() []*value {
	var list []*value
	for _, o := range s.ops {
		for _, a := range o.args {
			if a.source != "" && !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return list
}

// print assigns registers and prints the section.
func (s *section) print() {
	if !s.assign(s.free, true) {
		panic("gen: the code needs more registers than there are")
	}
}

// assign walks the operations with the free registers and reports whether they suffice. With emit it prints.
func (s *section) assign(free []int, emit bool) bool {
	a := &assignment{section: s, free: slices.Clone(free), place: map[*value][]int{}, emit: emit}
	for i, o := range s.ops {
		if !a.step(i, o) {
			return false
		}
	}
	return true
}

// assignment is the state of a walk: where values are now.
type assignment struct {
	*section
	free  []int
	place map[*value][]int
	emit  bool
}

func (a *assignment) step(i int, o *op) bool {
	var borrowed []int
	for _, v := range o.args {
		if v.source != "" && v.regs == nil && a.place[v] == nil {
			if len(a.free) == 0 {
				return false
			}
			r := a.take(1)
			a.place[v] = r
			borrowed = append(borrowed, r...)
			if a.emit {
				a.ins("VBROADCASTSS", v.source, a.v(r[0]))
			}
		}
	}
	if o.temp {
		if len(a.free) == 0 {
			return false
		}
		borrowed = append(borrowed, a.take(1)...)
	}
	inPlace := a.choose(i, o)
	switch {
	case o.out == nil || o.out.regs != nil:
	case inPlace >= 0:
		a.place[o.out] = a.at(o.args[inPlace])
	default:
		n := a.size(o.out)
		if len(a.free) < n {
			return false
		}
		a.place[o.out] = a.take(n)
	}
	if a.emit {
		a.print(o, inPlace, borrowed)
	}
	a.forget(i, o, inPlace, borrowed)
	return true
}

// choose finds an argument that ends here and whose registers the result may take over: -1 for none. A multiply-add
// prefers its addend.
func (a *assignment) choose(i int, o *op) int {
	if o.out == nil {
		return -1
	}
	for n := len(o.args) - 1; n >= 0; n-- {
		v := o.args[n]
		if o.out.regs != nil {
			if v == o.out {
				return n
			}
		} else if a.ends(i, v) && v.uniform == o.out.uniform {
			return n
		}
	}
	return -1
}

// ends reports whether operation i is the last to use v.
func (a *assignment) ends(i int, v *value) bool {
	if v.source != "" || v.regs != nil {
		return false
	}
	return !slices.ContainsFunc(a.ops[i+1:], func(o *op) bool { return slices.Contains(o.args, v) })
}

func (a *assignment) print(o *op, inPlace int, borrowed []int) {
	parts := 1
	for _, v := range append(slices.Clone(o.args), o.out) {
		if v != nil {
			parts = max(parts, a.size(v))
		}
	}
	for part := range parts {
		var regs []string
		for _, v := range o.args {
			r := a.at(v)
			regs = append(regs, a.v(r[min(part, len(r)-1)]))
		}
		if o.temp {
			regs = append(regs, a.v(borrowed[len(borrowed)-1]))
		}
		out := ""
		if o.out != nil {
			out = a.v(a.at(o.out)[part])
		}
		if o.fused {
			a.printFused(regs, out, inPlace)
		} else {
			o.emit(regs, out, part)
		}
	}
}

// printFused prints out = r[0]*r[1] + r[2], where out is already the register of argument inPlace.
func (a *assignment) printFused(r []string, out string, inPlace int) {
	switch inPlace {
	case 0:
		a.ins("VFMADD213PS", r[2], r[1], out)
	case 1:
		a.ins("VFMADD213PS", r[2], r[0], out)
	case 2:
		a.ins("VFMADD231PS", r[1], r[0], out)
	default:
		a.ins("VMOVAPS", r[2], out)
		a.ins("VFMADD231PS", r[1], r[0], out)
	}
}

// forget returns the registers of what ended at operation i.
func (a *assignment) forget(i int, o *op, inPlace int, borrowed []int) {
	for n, v := range o.args {
		switch {
		case v.source != "" && v.regs == nil:
			delete(a.place, v)
		case a.ends(i, v) && a.place[v] != nil:
			if n != inPlace && (inPlace < 0 || o.args[inPlace] != v) {
				a.free = append(a.free, a.place[v]...)
			}
			delete(a.place, v)
		}
	}
	a.free = append(a.free, borrowed...)
	if o.out != nil && o.out.regs == nil && !a.usedAfter(i, o.out) {
		panic("gen: a value is computed and never used")
	}
}

func (a *assignment) usedAfter(i int, v *value) bool {
	return slices.ContainsFunc(a.ops[i+1:], func(o *op) bool { return slices.Contains(o.args, v) })
}

func (a *assignment) at(v *value) []int {
	if v.regs != nil {
		return v.regs
	}
	return a.place[v]
}

func (a *assignment) size(v *value) int {
	if v.uniform {
		return 1
	}
	return a.parts()
}

func (a *assignment) take(n int) []int {
	regs := slices.Clone(a.free[:n])
	a.free = a.free[n:]
	return regs
}
