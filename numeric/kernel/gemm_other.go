//go:build !amd64

package kernel

func gemmVec(c []float32, ldc int, a []float32, rowA, colA int, b B, m, n, k int, accumulate bool) bool {
	return false
}
