package kernel

import (
	"fmt"
	"math"
)

// RMSNorm normalises rows of n elements: y = x * rstd * w with rstd = 1/sqrt(mean(x*x) + eps), and keeps rstd [rows] for
// the backward (Zhang and Sennrich 2019). w is [n]. y may be x.
func RMSNorm(y, x, w, rstd []float32, rows, n int, eps float32) {
	checkRows("RMSNorm", rows, n, y, x)
	checkNorm("RMSNorm", w, rstd, rows, n)
	for r := range rows {
		rmsNorm(y[r*n:][:n], x[r*n:][:n], w, &rstd[r], eps)
	}
}

func rmsNormPlain(y, x, w []float32, rstd *float32, eps float32) {
	mean := dotPlain(x, x) / float32(len(x))
	s := 1 / float32(math.Sqrt(float64(mean+eps)))
	*rstd = s
	for i, v := range x {
		y[i] = float32(v*s) * w[i]
	}
}

// RMSNormBackward adds to dx the gradient rstd * (dy*w - x * rstd*rstd * mean(dy*w*x)).
func RMSNormBackward(dx, dy, x, w, rstd []float32, rows, n int) {
	checkRows("RMSNormBackward", rows, n, dx, dy, x)
	checkNorm("RMSNormBackward", w, rstd, rows, n)
	for r := range rows {
		rmsNormBackward(dx[r*n:][:n], dy[r*n:][:n], x[r*n:][:n], w, rstd[r])
	}
}

func rmsNormBackwardPlain(dx, dy, x, w []float32, rstd float32) {
	var l lanes
	for i, v := range x {
		l[i%Lanes] = fma32(float32(dy[i]*w[i]), v, l[i%Lanes])
	}
	mean := l.sum() / float32(len(x))
	coef := float32(rstd*rstd) * mean
	for i, v := range x {
		dx[i] += float32((float32(dy[i]*w[i]) - float32(v*coef)) * rstd)
	}
}

// RMSNormBackwardWeight adds to dw [n] the sum over rows of dy*x*rstd, rows in ascending order. Rows of dy and x are ld
// apart, so workers may share a wide norm by columns.
func RMSNormBackwardWeight(dw, dy, x, rstd []float32, rows, n, ld int) {
	if need := max(rows-1, 0)*ld + n; rows < 0 || n < 0 || (rows > 1 && ld < n) ||
		len(dw) < n || len(rstd) < rows || (rows > 0 && min(len(dy), len(x)) < need) {
		panic(fmt.Sprintf("kernel: RMSNormBackwardWeight: %d rows of %d, %d apart, with dw[%d] dy[%d] x[%d] rstd[%d]",
			rows, n, ld, len(dw), len(dy), len(x), len(rstd)))
	}
	for r := range rows {
		rmsNormBackwardWeight(dw[:n], dy[r*ld:][:n], x[r*ld:][:n], rstd[r])
	}
}

func rmsNormBackwardWeightPlain(dw, dy, x []float32, rstd float32) {
	for i, v := range x {
		dw[i] += float32(float32(v*rstd) * dy[i])
	}
}

func checkNorm(what string, w, rstd []float32, rows, n int) {
	if len(w) != n || len(rstd) < rows {
		panic(fmt.Sprintf("kernel: %s: %d rows of %d with w[%d] rstd[%d]", what, rows, n, len(w), len(rstd)))
	}
}

// checkRows panics unless each slice holds rows*n elements.
func checkRows(what string, rows, n int, slices ...[]float32) {
	for _, s := range slices {
		if rows < 0 || n < 0 || len(s) < rows*n {
			panic(fmt.Sprintf("kernel: %s: %d rows of %d in a slice of %d", what, rows, n, len(s)))
		}
	}
}
