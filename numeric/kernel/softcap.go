package kernel

// Softcap replaces x by limit*tanh(scale*x/limit), which keeps it within ±limit (Bello et al. 2016; Gemma 2). tanh is good to
// a few ulp, small arguments included.
func Softcap(x []float32, scale, limit float32) { softcap(x, scale, limit) }

func softcapPlain(x []float32, scale, limit float32) {
	for i, v := range x {
		x[i] = float32(limit * tanh32(float32(scale*v)/limit))
	}
}

// SoftcapBackward replaces dx, the gradient of y = Softcap(x, scale, limit), by the gradient of x:
// dx * scale*(1-(y/limit)^2).
func SoftcapBackward(dx, y []float32, scale, limit float32) {
	checkSame("SoftcapBackward", dx, y)
	softcapBackward(dx, y, scale, limit)
}

func softcapBackwardPlain(dx, y []float32, scale, limit float32) {
	for i, v := range y {
		t := v / limit
		dx[i] = float32(dx[i] * float32(scale*(1-float32(t*t))))
	}
}

// tanh32 is (e**2x - 1) / (e**2x + 1) with e**r - 1 taken from exp32's polynomial before its 1 is added, so that nothing
// cancels: 2**n*(e**r - 1) + (2**n - 1). It is ±1 long before 2x reaches ±tanhEdge.
func tanh32(x float32) float32 {
	x = larger(-tanhEdge, smaller(tanhEdge, x+x))
	shifted := fma32(x, log2E, round)
	n := shifted - round
	r := fma32(n, -ln2Lo, fma32(n, -ln2Hi, x))
	p := fma32(expP0, r, expP1)
	p = fma32(p, r, expP2)
	p = fma32(p, r, expP3)
	p = fma32(p, r, expP4)
	p = fma32(p, r, expP5)
	p = fma32(p, r, 1)
	power := pow2(int32(n))
	less := fma32(power, float32(p*r), power-1)
	return less / (less + 2)
}

const tanhEdge = 30
