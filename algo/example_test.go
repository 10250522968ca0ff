package algo_test

import (
	"fmt"

	"molt/algo"
)

// Five tokens of one step, clip 0.2 on both sides, denominator 5. The ratio r is exp(New − Old).
//
//	A    New − Old   r      ℓ = −min(r·A, clip(r)·A)   dℓ/dNew   why
//	+1    0.0        1.000  −1.000                     −1.000    on policy: −A
//	+1   +0.1        1.105  −1.105                     −1.105    −r·A
//	+1   +0.5        1.649  −1.200                      0        above 1.2 and would be pushed further up
//	−1   −0.5        0.607  +0.800                      0        below 0.8 and would be pushed further down
//	−1   +0.5        1.649  +1.649                     +1.649    rose although it is bad: brought back
func ExamplePolicyLoss() {
	in := algo.Tokens{
		LogpNew:   []float32{-1.0, -0.9, -0.5, -1.5, -0.5},
		LogpOld:   []float32{-1.0, -1.0, -1.0, -1.0, -1.0},
		Advantage: []float32{1, 1, 1, -1, -1},
	}
	dLogp := make([]float32, 5)
	s := algo.PolicyLoss(dLogp, in, algo.LossConfig{Name: "ppo", ClipLow: 0.2, ClipHigh: 0.2}, 5)

	fmt.Printf("loss %.4f, clipped %d high and %d low of %d\n", s.Loss, s.ClippedHigh, s.ClippedLow, s.Tokens)
	fmt.Printf("gradient × 5: %.3f\n", scaled(dLogp, 5))
	// Output:
	// loss -0.1713, clipped 1 high and 1 low of 5
	// gradient × 5: [-1.000 -1.105 0.000 0.000 1.649]
}

func scaled(x []float32, by float32) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = v * by
	}
	return out
}
