package kernel

// SwiGLU writes y = silu(gate) * up with silu(g) = g / (1 + exp(-g)). y may be gate or up.
func SwiGLU(y, gate, up []float32) {
	checkSame("SwiGLU", y, gate, up)
	swiglu(y, gate, up)
}

func swigluPlain(y, gate, up []float32) {
	for i, g := range gate {
		y[i] = float32(g/(1+exp32(-g))) * up[i]
	}
}

// SwiGLUBackward overwrites dgate and dup (gate and up have no other consumer): with s = 1/(1+exp(-gate)),
// dup = dy*(gate*s) and dgate = dy*up * s*(1+gate*(1-s)). dgate or dup may be dy, gate or up.
func SwiGLUBackward(dgate, dup, dy, gate, up []float32) {
	checkSame("SwiGLUBackward", dgate, dup, dy, gate, up)
	swigluBackward(dgate, dup, dy, gate, up)
}

func swigluBackwardPlain(dgate, dup, dy, gate, up []float32) {
	for i, g := range gate {
		s := 1 / (1 + exp32(-g))
		d, u := dy[i], up[i]
		slope := float32(float32(g*(1-s))+1) * s
		dgate[i] = float32(d*u) * slope
		dup[i] = float32(g*s) * d
	}
}
