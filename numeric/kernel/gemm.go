package kernel

import "fmt"

// Lanes is the width of a panel of a B operand and the number of partial sums of every reduction along a row.
const Lanes = 16

// B is the right-hand operand [K,N] of a product. Element (k, n) is Data[(n/16)*PanelStride + k*RowStride + n%16].
//
//   - packed weights and key pages: RowStride 16, PanelStride 16*K; one panel holds 16 columns (see Packed);
//   - a row-major matrix [K, N] whose rows are ld apart: RowStride ld, PanelStride 16, any N (see RowMajor).
//
// Gemm reads only elements with k < K and n < N.
type B struct {
	Data                   []float32
	PanelStride, RowStride int
}

// RowMajor views data as a row-major operand whose consecutive rows start ld elements apart.
func RowMajor(data []float32, ld int) B { return B{Data: data, PanelStride: Lanes, RowStride: ld} }

// Chain is the number of multiply-adds that one accumulator of a product takes before it is added to C. A product may be cut
// along K at its multiples without changing a bit.
const Chain = 192

// Gemm computes c[m*ldc+n] = sum over k of a[m*rowA+k*colA] * b(k,n) for m < M and n < N, adding to c's old value when
// accumulate is set. It writes no other element of c. Strides are free: a row-major A has colA 1, a transposed A has
// rowA 1. So dW[N,K] += dYᵀ·X is Gemm(dw, K, dy, 1, N, RowMajor(x, K), N, K, rows, true).
func Gemm(c []float32, ldc int, a []float32, rowA, colA int, b B, m, n, k int, accumulate bool) {
	checkGemm(c, ldc, a, rowA, colA, b, m, n, k)
	if m == 0 || n == 0 {
		return
	}
	if !gemmVec(c, ldc, a, rowA, colA, b, m, n, k, accumulate) {
		gemmPlain(c, ldc, a, rowA, colA, b, m, n, k, accumulate)
	}
}

func gemmPlain(c []float32, ldc int, a []float32, rowA, colA int, b B, m, n, k int, accumulate bool) {
	for n0 := 0; n0 < n; n0 += Lanes {
		for i := range m {
			row := c[i*ldc+n0:][:min(Lanes, n-n0)]
			if !accumulate {
				clear(row)
			}
			for k0 := 0; k0 < k; k0 += Chain {
				panel := b.Data[n0/Lanes*b.PanelStride+k0*b.RowStride:]
				addChain(row, a[i*rowA+k0*colA:], colA, panel, b.RowStride, min(Chain, k-k0))
			}
		}
	}
}

// addChain adds k products to each element of a panel's row of C.
func addChain(c, a []float32, colA int, panel []float32, rowB, k int) {
	var sum [Lanes]float32
	for kk := range k {
		x := float64(a[kk*colA])
		for j, y := range panel[kk*rowB:][:len(c)] {
			sum[j] = roundOnce(x*float64(y), float64(sum[j]))
		}
	}
	for j := range c {
		c[j] += sum[j]
	}
}

// checkGemm panics unless every element that the product touches lies inside its slice.
func checkGemm(c []float32, ldc int, a []float32, rowA, colA int, b B, m, n, k int) {
	if m < 0 || n < 0 || k < 0 || rowA < 0 || colA < 0 || b.PanelStride < 0 || b.RowStride < 0 || (m > 1 && ldc < n) {
		panic(fmt.Sprintf("kernel: Gemm: bad sizes M=%d N=%d K=%d ldc=%d rowA=%d colA=%d B strides %d,%d",
			m, n, k, ldc, rowA, colA, b.PanelStride, b.RowStride))
	}
	if m == 0 || n == 0 {
		return
	}
	needC, needA, needB := (m-1)*ldc+n, 0, 0
	if k > 0 {
		needA = (m-1)*rowA + (k-1)*colA + 1
		last := (n - 1) / Lanes
		needB = last*b.PanelStride + (k-1)*b.RowStride + (n-1)%Lanes + 1
		if last > 0 {
			needB = max(needB, (last-1)*b.PanelStride+(k-1)*b.RowStride+Lanes)
		}
	}
	if len(c) < needC || len(a) < needA || len(b.Data) < needB {
		panic(fmt.Sprintf("kernel: Gemm: M=%d N=%d K=%d needs c[%d] a[%d] b[%d], got c[%d] a[%d] b[%d]",
			m, n, k, needC, needA, needB, len(c), len(a), len(b.Data)))
	}
}
