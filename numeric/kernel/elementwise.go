package kernel

import "fmt"

// Add adds x to dst.
func Add(dst, x []float32) {
	checkSame("Add", dst, x)
	add(dst, x)
}

func addPlain(dst, x []float32) {
	for i, v := range x {
		dst[i] += v
	}
}

// Sub subtracts x from dst.
func Sub(dst, x []float32) {
	checkSame("Sub", dst, x)
	sub(dst, x)
}

func subPlain(dst, x []float32) {
	for i, v := range x {
		dst[i] -= v
	}
}

// Mul multiplies dst by x, element by element.
func Mul(dst, x []float32) {
	checkSame("Mul", dst, x)
	mul(dst, x)
}

func mulPlain(dst, x []float32) {
	for i, v := range x {
		dst[i] *= v
	}
}

// Scale multiplies dst by alpha.
func Scale(dst []float32, alpha float32) { scale(dst, alpha) }

func scalePlain(dst []float32, alpha float32) {
	for i := range dst {
		dst[i] *= alpha
	}
}

// Axpy adds alpha*x to dst; the product is rounded before it is added.
func Axpy(dst []float32, alpha float32, x []float32) {
	checkSame("Axpy", dst, x)
	axpy(dst, alpha, x)
}

func axpyPlain(dst []float32, alpha float32, x []float32) {
	for i, v := range x {
		dst[i] += float32(alpha * v)
	}
}

// checkSame panics unless all slices are as long as the first.
func checkSame(what string, slices ...[]float32) {
	for _, s := range slices {
		if len(s) != len(slices[0]) {
			lengths := make([]int, len(slices))
			for i, s := range slices {
				lengths[i] = len(s)
			}
			panic(fmt.Sprintf("kernel: %s: lengths differ: %v", what, lengths))
		}
	}
}
