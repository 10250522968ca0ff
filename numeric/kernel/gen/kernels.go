package main

import (
	"math"
	"slices"
)

// vectorFile is the assembly of every kernel over slices, for one instruction set.
type vectorFile struct {
	*listing
	consts map[uint32]bool
}

func vectorText(i isa) string {
	f := &vectorFile{listing: newListing(i), consts: map[uint32]bool{}}
	for _, d := range kernels {
		f.define(d.name, d.params, d.body)
	}
	f.sumSquares()
	var bits []uint32
	for b := range f.consts {
		bits = append(bits, b)
	}
	slices.Sort(bits)
	f.linef("")
	for _, b := range bits {
		f.linef("DATA c%08x<>+0(SB)/4, $0x%08x", b, b)
		f.linef("GLOBL c%08x<>(SB), RODATA, $4", b)
	}
	f.maskTable()
	return f.text.String()
}

// kernels describes each kernel once. The plain twin of the same name in package kernel does the same operations.
var kernels = []struct {
	name   string
	params []param
	body   func(k *kernel)
}{
	{"add", list(slice("dst", "x")), func(k *kernel) {
		k.loop(func(s *section) { s.store("dst", s.sum(s.load("dst"), s.load("x"))) })
	}},
	{"sub", list(slice("dst", "x")), func(k *kernel) {
		k.loop(func(s *section) { s.store("dst", s.difference(s.load("dst"), s.load("x"))) })
	}},
	{"mul", list(slice("dst", "x")), func(k *kernel) {
		k.loop(func(s *section) { s.store("dst", s.product(s.load("dst"), s.load("x"))) })
	}},
	{"scale", list(slice("dst"), float("alpha")), func(k *kernel) {
		k.loop(func(s *section) { s.store("dst", s.product(s.load("dst"), s.arg("alpha"))) })
	}},
	{"axpy", list(slice("dst"), float("alpha"), slice("x")), func(k *kernel) {
		k.loop(func(s *section) {
			s.store("dst", s.sum(s.load("dst"), s.product(s.arg("alpha"), s.load("x"))))
		})
	}},
	{"dot", list(slice("x", "y"), result("ret")), func(k *kernel) {
		k.give("ret", k.dot("x", "y"))
	}},
	{"largest", list(slice("x"), result("ret")), func(k *kernel) {
		k.give("ret", k.largest("x"))
	}},
	{"exp", list(slice("dst", "x")), func(k *kernel) {
		k.loop(func(s *section) { s.store("dst", s.exp(s.load("x"))) })
	}},
	{"softmax", list(slice("p"), float("scale")), softmax},
	{"softmaxBackward", list(slice("dp", "p"), float("scale")), softmaxBackward},
	{"expSums", list(slice("x"), float("shift"), result("sum"), result("dot")), expSums},
	{"logSumExpBackward", list(slice("x"), float("lse", "entropy", "dLogp", "dEntropy", "scale")), logSumExpBackward},
	{"swiglu", list(slice("y", "gate", "up")), swiglu},
	{"swigluBackward", list(slice("dgate", "dup", "dy", "gate", "up")), swigluBackward},
	{"geglu", list(slice("y", "gate", "up")), geglu},
	{"gegluBackward", list(slice("dgate", "dup", "dy", "gate", "up")), gegluBackward},
	{"softcap", list(slice("x"), float("scale", "limit")), func(k *kernel) {
		k.loop(func(s *section) {
			z := s.quotient(s.product(s.arg("scale"), s.load("x")), s.arg("limit"))
			s.store("x", s.product(s.arg("limit"), s.tanh(z)))
		})
	}},
	{"softcapBackward", list(slice("dx", "y"), float("scale", "limit")), func(k *kernel) {
		k.loop(func(s *section) {
			t := s.quotient(s.load("y"), s.arg("limit"))
			slope := s.product(s.arg("scale"), s.difference(s.num(1), s.product(t, t)))
			s.store("dx", s.product(s.load("dx"), slope))
		})
	}},
	{"rmsNorm", list(slice("y", "x", "w"), pointer("rstd", "float32"), float("eps")), rmsNorm},
	{"rmsNormBackward", list(slice("dx", "dy", "x", "w"), float("rstd")), rmsNormBackward},
	{"rmsNormBackwardWeight", list(slice("dw", "dy", "x"), float("rstd")), func(k *kernel) {
		k.loop(func(s *section) {
			s.store("dw", s.sum(s.load("dw"), s.product(s.product(s.load("x"), s.arg("rstd")), s.load("dy"))))
		})
	}},
	{"rope", list(slice("cos", "sin", "x", "y")), func(k *kernel) {
		k.loop(func(s *section) {
			a, b, cos, sin := s.load("x"), s.load("y"), s.load("cos"), s.load("sin")
			s.store("x", s.difference(s.product(a, cos), s.product(b, sin)))
			s.store("y", s.sum(s.product(b, cos), s.product(a, sin)))
		})
	}},
	{"ropeBackward", list(slice("cos", "sin", "x", "y")), func(k *kernel) {
		k.loop(func(s *section) {
			a, b, cos, sin := s.load("x"), s.load("y"), s.load("cos"), s.load("sin")
			s.store("x", s.sum(s.product(a, cos), s.product(b, sin)))
			s.store("y", s.difference(s.product(b, cos), s.product(a, sin)))
		})
	}},
	{"adamw", list(slice("w", "m", "v", "g"), pointer("f", "factors")), adamw},
}

// exp is exp32 of package kernel.
func (s *section) exp(x *value) *value {
	n, r, p := s.expParts(s.larger(s.num(-105), s.smaller(s.num(89), x)))
	return s.scaled(s.fma(p, r, s.num(1)), n)
}

// expParts splits x: e**x is 2**n * (1 + p*r).
func (s *section) expParts(x *value) (n, r, p *value) {
	shifted := s.fma(x, s.num(math.Log2E), s.num(3<<22))
	n = s.difference(shifted, s.num(3<<22))
	r = s.fma(n, s.num(2.12194440e-4), s.fma(n, s.num(-0.693359375), x))
	p = s.num(1.9875691500e-4)
	for _, c := range []float32{1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1} {
		p = s.fma(p, r, s.num(c))
	}
	return n, r, p
}

// tanh is tanh32 of package kernel.
func (s *section) tanh(x *value) *value {
	n, r, p := s.expParts(s.larger(s.num(-30), s.smaller(s.num(30), s.sum(x, x))))
	power := s.power(s.unary("VCVTPS2DQ", n))
	less := s.fma(power, s.product(p, r), s.difference(power, s.num(1)))
	return s.quotient(less, s.sum(less, s.num(2)))
}

// dot is the sum of x*y in 16 lanes.
func (k *kernel) dot(x, y string) *value {
	acc := k.acc(k.num(0))
	k.loop(func(s *section) { s.accumulateProduct(acc, s.load(x), s.load(y)) })
	return k.folded("VADDPS", acc)
}

func (k *kernel) largest(x string) *value {
	low := k.num(float32(math.Inf(-1)))
	acc := k.acc(low)
	k.loop(func(s *section) { s.accumulateLarger(acc, s.existing(s.load(x), low)) })
	return k.folded("VMAXPS", acc)
}

func softmax(k *kernel) {
	top := k.largest("p")
	acc := k.acc(k.num(0))
	k.loop(func(s *section) {
		e := s.exp(s.product(s.difference(s.load("p"), top), s.arg("scale")))
		s.store("p", e)
		s.accumulate(acc, s.existing(e, s.num(0)))
	})
	var inverse *value
	total := k.folded("VADDPS", acc)
	k.straight(func(s *section) { inverse = s.hold(s.quotient(s.num(1), total)) })
	k.loop(func(s *section) { s.store("p", s.product(s.load("p"), inverse)) })
}

func softmaxBackward(k *kernel) {
	mean := k.dot("p", "dp")
	k.loop(func(s *section) {
		s.store("dp", s.product(s.product(s.difference(s.load("dp"), mean), s.load("p")), s.arg("scale")))
	})
}

func expSums(k *kernel) {
	sum, dot := k.acc(k.num(0)), k.acc(k.num(0))
	k.loop(func(s *section) {
		t := s.larger(s.num(-105), s.difference(s.load("x"), s.arg("shift")))
		e := s.existing(s.exp(t), s.num(0))
		s.accumulate(sum, e)
		s.accumulateProduct(dot, e, t)
	})
	k.give("sum", k.folded("VADDPS", sum))
	k.give("dot", k.folded("VADDPS", dot))
}

func logSumExpBackward(k *kernel) {
	k.loop(func(s *section) {
		t := s.larger(s.num(-105), s.difference(s.load("x"), s.arg("lse")))
		g := s.sum(s.arg("dLogp"), s.product(s.arg("dEntropy"), s.sum(t, s.arg("entropy"))))
		s.store("x", s.product(s.product(s.exp(t), g), s.negated(s.arg("scale"))))
	})
}

// sigmoidDenominator is 1 + exp(-x), the denominator of the logistic function.
func (s *section) sigmoidDenominator(x *value) *value { return s.sum(s.num(1), s.exp(s.negated(x))) }

func swiglu(k *kernel) {
	k.loop(func(s *section) {
		g := s.load("gate")
		s.store("y", s.product(s.quotient(g, s.sigmoidDenominator(g)), s.load("up")))
	})
}

func swigluBackward(k *kernel) {
	k.loop(func(s *section) {
		g := s.load("gate")
		sig := s.quotient(s.num(1), s.sigmoidDenominator(g))
		slope := s.product(s.sum(s.product(g, s.difference(s.num(1), sig)), s.num(1)), sig)
		d := s.load("dy")
		dup := s.product(s.product(g, sig), d)
		dgate := s.product(s.product(d, s.load("up")), slope)
		s.store("dgate", dgate)
		s.store("dup", dup)
	})
}

// geluInner is z of g, and g*g for its slope.
func (s *section) geluInner(g *value) (z, square *value) {
	square = s.product(g, g)
	return s.product(s.product(s.num(geluSlope), g), s.sum(s.product(s.num(geluCube), square), s.num(1))), square
}

const geluSlope, geluCube = 1.5957691216057308, 0.044715

func geglu(k *kernel) {
	k.loop(func(s *section) {
		g := s.load("gate")
		z, _ := s.geluInner(g)
		s.store("y", s.product(s.quotient(g, s.sigmoidDenominator(z)), s.load("up")))
	})
}

func gegluBackward(k *kernel) {
	k.loop(func(s *section) {
		g := s.load("gate")
		z, square := s.geluInner(g)
		sig := s.quotient(s.num(1), s.sigmoidDenominator(z))
		inner := s.product(s.num(geluSlope), s.sum(s.product(s.num(3*geluCube), square), s.num(1)))
		slope := s.product(s.sum(s.product(s.product(g, s.difference(s.num(1), sig)), inner), s.num(1)), sig)
		d := s.load("dy")
		dup := s.product(s.product(g, sig), d)
		dgate := s.product(s.product(d, s.load("up")), slope)
		s.store("dgate", dgate)
		s.store("dup", dup)
	})
}

func rmsNorm(k *kernel) {
	squares := k.dot("x", "x")
	n := k.count()
	var rstd *value
	k.straight(func(s *section) {
		mean := s.quotient(squares, n)
		rstd = s.hold(s.quotient(s.num(1), s.root(s.sum(mean, s.arg("eps")))))
		s.storeOne("rstd", rstd)
	})
	k.loop(func(s *section) { s.store("y", s.product(s.product(s.load("x"), rstd), s.load("w"))) })
}

func rmsNormBackward(k *kernel) {
	acc := k.acc(k.num(0))
	k.loop(func(s *section) { s.accumulateProduct(acc, s.product(s.load("dy"), s.load("w")), s.load("x")) })
	total := k.folded("VADDPS", acc)
	n := k.count()
	var coef *value
	k.straight(func(s *section) {
		coef = s.hold(s.product(s.product(s.arg("rstd"), s.arg("rstd")), s.quotient(total, n)))
	})
	k.loop(func(s *section) {
		inner := s.difference(s.product(s.load("dy"), s.load("w")), s.product(s.load("x"), coef))
		s.store("dx", s.sum(s.load("dx"), s.product(inner, s.arg("rstd"))))
	})
}

func adamw(k *kernel) {
	f := func(name string) *value { return k.field("f", "factors_"+name) }
	k.loop(func(s *section) {
		d := s.product(s.load("g"), f("grad"))
		m := s.sum(s.product(f("beta1"), s.load("m")), s.product(f("rest1"), d))
		s.store("m", m)
		v := s.sum(s.product(f("beta2"), s.load("v")), s.product(f("rest2"), s.product(d, d)))
		s.store("v", v)
		bottom := s.sum(s.product(s.root(v), f("root")), f("eps"))
		step := s.quotient(s.product(f("rate"), m), bottom)
		s.store("w", s.difference(s.product(s.load("w"), f("keep")), step))
	})
}
