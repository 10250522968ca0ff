package kernel

import "fmt"

// Softmax replaces p[:n] by softmax(scale*p[:n]) and p[n:] by zero, so that a following product over the whole of p adds
// exact zeros there. scale must be positive. A row of n = 0 is all zero.
func Softmax(p []float32, n int, scale float32) {
	checkPrefix("Softmax", len(p), n)
	clear(p[n:])
	if n > 0 {
		softmax(p[:n], scale)
	}
}

// softmaxPlain: e = exp((p-max)*scale), summed in 16 lanes; p = e * (1/sum).
func softmaxPlain(p []float32, scale float32) {
	top := largestPlain(p)
	var l lanes
	for i, v := range p {
		e := exp32((v - top) * scale)
		p[i] = e
		l[i%Lanes] += e
	}
	scalePlain(p, 1/l.sum())
}

// SoftmaxBackward replaces dp[:n], the gradient of p = softmax(scale*x), by the gradient of x,
// (dp - sum(p*dp)) * p * scale, and dp[n:] by zero.
func SoftmaxBackward(dp, p []float32, n int, scale float32) {
	checkSame("SoftmaxBackward", dp, p)
	checkPrefix("SoftmaxBackward", len(p), n)
	clear(dp[n:])
	if n > 0 {
		softmaxBackward(dp[:n], p[:n], scale)
	}
}

func softmaxBackwardPlain(dp, p []float32, scale float32) {
	mean := dotPlain(p, dp)
	for i, v := range p {
		dp[i] = (dp[i] - mean) * v * scale
	}
}

func checkPrefix(what string, length, n int) {
	if n < 0 || n > length {
		panic(fmt.Sprintf("kernel: %s: n = %d of %d", what, n, length))
	}
}
