package kernel

// GeGLU writes y = gelu(gate) * up with the tanh form of gelu (Hendrycks and Gimpel 2016; Shazeer 2020):
// gelu(g) = g/2 * (1 + tanh(z/2)) = g / (1 + exp(-z)) with z = 2*sqrt(2/pi) * (g + 0.044715*g^3). y may be gate or up.
func GeGLU(y, gate, up []float32) {
	checkSame("GeGLU", y, gate, up)
	geglu(y, gate, up)
}

const (
	geluSlope = 1.5957691216057308 // 2*sqrt(2/pi)
	geluCube  = 0.044715
)

// geluInner is z of g, and g*g for its slope.
func geluInner(g float32) (z, square float32) {
	square = float32(g * g)
	return float32(float32(geluSlope*g) * (float32(geluCube*square) + 1)), square
}

func gegluPlain(y, gate, up []float32) {
	for i, g := range gate {
		z, _ := geluInner(g)
		y[i] = float32(g/(1+exp32(-z))) * up[i]
	}
}

// GeGLUBackward overwrites dgate and dup: with s = 1/(1+exp(-z)), dup = dy*(g*s) and
// dgate = dy*up * s*(1 + g*(1-s)*z') with z' = 2*sqrt(2/pi)*(1 + 3*0.044715*g^2). dgate or dup may be dy, gate or up.
func GeGLUBackward(dgate, dup, dy, gate, up []float32) {
	checkSame("GeGLUBackward", dgate, dup, dy, gate, up)
	gegluBackward(dgate, dup, dy, gate, up)
}

func gegluBackwardPlain(dgate, dup, dy, gate, up []float32) {
	for i, g := range gate {
		z, square := geluInner(g)
		s := 1 / (1 + exp32(-z))
		d, u := dy[i], up[i]
		inner := float32(geluSlope * (float32(3*geluCube*square) + 1))
		slope := float32(float32(float32(g*(1-s))*inner)+1) * s
		dgate[i] = float32(d*u) * slope
		dup[i] = float32(g*s) * d
	}
}
