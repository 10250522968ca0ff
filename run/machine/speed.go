package machine

import (
	"runtime"
	"time"

	"molt/numeric/kernel"
)

// Speed measures, for some hundredths of a second, how many floating-point operations a second the matrix products of a small
// model reach here and now: what else the machine does counts.
func Speed(threads int) float64 {
	const m, n, k, enough = 128, 768, 512, 40 * time.Millisecond
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	a := kernel.NewArena(0)
	defer a.Free()
	c, x, w := a.Zeros(m*n), a.Zeros(m*k), a.Zeros(kernel.PackedLen(k, n))
	pool := kernel.NewPool(threads)
	defer pool.Close()
	multiply := func() { pool.Gemm(c, n, x, k, 1, kernel.Packed(w, k), m, n, k, false) }
	multiply() // the first touches the memory
	begun, rounds := time.Now(), 0
	for rounds == 0 || time.Since(begun) < enough {
		multiply()
		rounds++
	}
	return 2 * m * n * k * float64(rounds) / time.Since(begun).Seconds()
}
