//go:build !arm64

package kernel

// fma32 returns x*y+z rounded once.
func fma32(x, y, z float32) float32 {
	return roundOnce(float64(x)*float64(y), float64(z))
}
