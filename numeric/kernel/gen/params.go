package main

import (
	"fmt"
	"slices"
	"strings"
)

// param is one parameter of a kernel's Go function.
type param struct {
	name string
	kind string // "slice", "pointer", "float", "result"
	of   string // what a pointer points to
	off  int    // offset in the argument frame, bytes
}

func list(groups ...[]param) []param { return slices.Concat(groups...) }

func slice(names ...string) []param  { return each("slice", names) }
func float(names ...string) []param  { return each("float", names) }
func result(names ...string) []param { return each("result", names) }

func pointer(name, of string) []param { return []param{{name: name, kind: "pointer", of: of}} }

func each(kind string, names []string) []param {
	var ps []param
	for _, n := range names {
		ps = append(ps, param{name: n, kind: kind})
	}
	return ps
}

// layout places parameters as Go's stack-based calling convention does: each at its alignment, results after a gap to
// the word.
func layout(params []param) []param {
	out := slices.Clone(params)
	off, inResults := 0, false
	for i, p := range out {
		size, align := p.size()
		if p.kind == "result" && !inResults {
			inResults, align = true, 8
		}
		off = (off + align - 1) / align * align
		out[i].off = off
		off += size
	}
	return out
}

func (p param) size() (size, align int) {
	switch p.kind {
	case "slice":
		return 24, 8
	case "pointer":
		return 8, 8
	}
	return 4, 4
}

func frameSize(placed []param) int {
	last := placed[len(placed)-1]
	size, _ := last.size()
	return last.off + size
}

// signature is the Go parameter list with results.
func signature(params []param) string {
	var in, out []string
	for _, p := range params {
		switch p.kind {
		case "slice":
			in = append(in, p.name+" []float32")
		case "pointer":
			in = append(in, p.name+" *"+p.of)
		case "float":
			in = append(in, p.name+" float32")
		case "result":
			out = append(out, p.name+" float32")
		}
	}
	s := "(" + strings.Join(in, ", ") + ")"
	if len(out) > 0 {
		s += " (" + strings.Join(out, ", ") + ")"
	}
	return s
}

// call is the argument list that passes the parameters on.
func call(params []param) string {
	var in []string
	for _, p := range params {
		if p.kind != "result" {
			in = append(in, p.name)
		}
	}
	return "(" + strings.Join(in, ", ") + ")"
}

// operand is a parameter's operand.
func (k *kernel) operand(name string) string {
	i := slices.IndexFunc(k.params, func(p param) bool { return p.name == name })
	return fmt.Sprintf("%s+%d(FP)", name, k.params[i].off)
}
