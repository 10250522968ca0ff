package weights

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// abreast calls do for 0 to n-1, on as many goroutines as may run at once, and returns when all calls have.
func abreast(n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}
