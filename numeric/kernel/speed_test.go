package kernel

import "testing"

func BenchmarkOperators(b *testing.B) {
	for _, o := range operators {
		for _, size := range []int{32, 4096} {
			b.Run(o.name+map[int]string{32: "/32", 4096: "/4096"}[size], func(b *testing.B) {
				x := make([][]float32, o.slices)
				for i := range x {
					x[i] = make([]float32, size)
				}
				s := []float32{1, 0.5, 0.25, 0.1, 1}
				for b.Loop() {
					o.call(x, s)
				}
				b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gel/s")
			})
		}
	}
}
