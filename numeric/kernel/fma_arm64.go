package kernel

// fma32 returns x*y+z rounded once: the compiler fuses the expression on this architecture, and a test checks it.
func fma32(x, y, z float32) float32 { return x*y + z }
