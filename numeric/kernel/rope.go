package kernel

import "fmt"

// Rope rotates the heads of one token in place (Su et al. 2021, in Hugging Face's rotate-half form): x is heads of hd
// elements, cos and sin are [half] for the token's position; with a = x[i] and b = x[i+half] of a head,
// x[i] = a*cos - b*sin and x[i+half] = b*cos + a*sin. Elements of a head from 2*half on, if any, stay as they are.
func Rope(x, cos, sin []float32, hd int) {
	checkRope("Rope", x, cos, sin, hd)
	for h := 0; h < len(x); h += hd {
		rope(cos, sin, x[h:], x[h+len(cos):])
	}
}

func ropePlain(cos, sin, x, y []float32) {
	for i, c := range cos {
		a, b, s := x[i], y[i], sin[i]
		x[i] = float32(a*c) - float32(b*s)
		y[i] = float32(b*c) + float32(a*s)
	}
}

// RopeBackward turns the gradient of a rotated token into that of the token in place: the inverse rotation.
func RopeBackward(dx, cos, sin []float32, hd int) {
	checkRope("RopeBackward", dx, cos, sin, hd)
	for h := 0; h < len(dx); h += hd {
		ropeBackward(cos, sin, dx[h:], dx[h+len(cos):])
	}
}

func ropeBackwardPlain(cos, sin, dx, dy []float32) {
	for i, c := range cos {
		a, b, s := dx[i], dy[i], sin[i]
		dx[i] = float32(a*c) + float32(b*s)
		dy[i] = float32(b*c) - float32(a*s)
	}
}

func checkRope(what string, x, cos, sin []float32, hd int) {
	if hd <= 0 || len(x)%hd != 0 || len(cos) == 0 || 2*len(cos) > hd || len(sin) != len(cos) {
		panic(fmt.Sprintf("kernel: %s: x[%d] cos[%d] sin[%d] with head dim %d", what, len(x), len(cos), len(sin), hd))
	}
}
