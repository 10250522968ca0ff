package kernel

import (
	"math/rand/v2"
	"testing"
)

func TestGemmInBlocksMatchesPlain(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 3))
		randomProduct(r, 3, 40, 2*Chain+5, 0).mustMatchPlain(t)
		randomProduct(r, rowsBlock+7, 20, 3, 0).mustMatchPlain(t)
		for _, k := range []int{5, Chain + 1} { // gathered, the last panel narrow
			p := randomProduct(r, gatherRows+3, 45, k, 0)
			p.b = RowMajor(random(r, (k-1)*gatherStride+45), gatherStride)
			p.mustMatchPlain(t)
		}
	})
}
