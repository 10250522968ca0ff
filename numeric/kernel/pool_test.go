package kernel

import (
	"sync/atomic"
	"testing"
)

type count []atomic.Int32

func (c count) Do(i, _ int) { c[i].Add(1) }

func TestPoolRunsEveryItemOnce(t *testing.T) {
	for threads := 1; threads <= 5; threads++ {
		p := NewPool(threads)
		for n := range 200 {
			c := make(count, n)
			p.Run(n, c)
			for i := range c {
				if got := c[i].Load(); got != 1 {
					t.Fatalf("threads %d, n %d: item %d ran %d times", threads, n, i, got)
				}
			}
		}
		p.Close()
	}
}
