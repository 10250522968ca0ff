package kernel

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

// The numbers themselves: they may only change with intent, and they are the same on every architecture and path.
func TestBitsStayAsTheyAre(t *testing.T) {
	want := map[string]uint64{
		"Add":                     0xa8603eaeb96e6720,
		"Sub":                     0x4d8f4e25342ddaac,
		"Mul":                     0xd589b05e341a0179,
		"Scale":                   0x565d261fd2a69848,
		"Axpy":                    0xf54ae828a4b4cbbf,
		"Dot":                     0x9cc6aaf1509b3b4e,
		"Max":                     0xfcac9424e9441569,
		"SumSquares":              0xb5b0dd6e11afa4df,
		"Exp":                     0x6a06ba7c49c65d2e,
		"Softmax":                 0xfb54b30c1cca6a52,
		"Softmax of a prefix":     0x1b092065b123eeff,
		"SoftmaxBackward":         0x296dbc3879dfb67e,
		"LogSumExp":               0xdeb1214e8dd91cb0,
		"LogSumExpBackward":       0xa7128288846bd655,
		"SwiGLU":                  0xb309e7b8d222a158,
		"SwiGLU in place":         0x4a0d0d461cc1e677,
		"SwiGLUBackward":          0xb245dbdba04428a3,
		"SwiGLUBackward in place": 0xc59d58bb78b351b7,
		"RMSNorm":                 0x662cfa9e2115618e,
		"RMSNormBackward":         0x23102321dc57e110,
		"RMSNormBackwardWeight":   0xf845c0512a204fa5,
		"Rope":                    0x18e0e261d0c52dd7,
		"RopeBackward":            0x4784ca433b446a4e,
		"AdamW":                   0x5f7e4729d3085ac3,
		"GeGLU":                   0xc87b5b816c17414d,
		"GeGLUBackward":           0x48236c33af4a9bd5,
		"GeGLUBackward in place":  0x8337204635edeedc,
		"Softcap":                 0x69fd9cf698052f15,
		"SoftcapBackward":         0xad77ff164d8b5f2,
		"Rope of a part":          0x353760b19fdd5991,
	}
	onEveryPath(t, func(t *testing.T, _ *rand.Rand) {
		r := rand.New(rand.NewPCG(21, 22))
		for _, o := range operators {
			h := fnv.New64a()
			for _, n := range []int{5, 16, 71} {
				in := operands{}
				for range o.slices {
					in.add(dyadic(r, n))
				}
				in.add(dyadic(r, 5))
				out := in.apply(o.call)
				for _, x := range append(in.inner, out[:]) {
					for _, v := range x {
						b := math.Float32bits(v)
						h.Write([]byte{byte(b), byte(b >> 8), byte(b >> 16), byte(b >> 24)})
					}
				}
			}
			if got := h.Sum64(); got != want[o.name] {
				t.Errorf("%q: %#x,", o.name, got)
			}
		}
	})
}

// dyadic draws numbers in [-4, 4) without rounding.
func dyadic(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(int32(r.Uint32())>>8) * 0x1p-21
	}
	return x
}
