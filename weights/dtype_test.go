package weights

import (
	"math"
	"slices"
	"testing"
)

func TestConvertLiterals(t *testing.T) {
	for _, c := range []struct {
		dtype DType
		src   []byte
		want  []float32
	}{
		{"F32", []byte{0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0}, []float32{1, -2}},
		{"BF16", []byte{0x80, 0x3F, 0x49, 0x40, 0x00, 0x80}, []float32{1, 3.140625, 0}},
		{"F16", []byte{0x00, 0x3C, 0x00, 0xC0, 0xFF, 0x7B, 0x01, 0x00, 0x00, 0x04, 0xFF, 0x03}, []float32{1, -2, 65504, 0x1p-24, 0x1p-14, 1023 * 0x1p-24}},
	} {
		got := make([]float32, len(c.want))
		if err := Decode(got, c.src, c.dtype); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v %v, want %v", c.dtype, got, err, c.want)
		}
	}
}

// TestHalf compares every binary16 with its definition.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		e, f := h>>10&0x1F, float64(h&0x3FF)
		want := math.Ldexp(1024+f, e-25)
		switch {
		case e == 0:
			want = math.Ldexp(f, -24)
		case e == 31 && f == 0:
			want = math.Inf(1)
		case e == 31:
			want = math.NaN()
		}
		if h>>15 == 1 {
			want = -want
		}
		got := float64(Half(uint16(h)))
		if got != want && !(got != got && want != want) || math.Signbit(got) != (h>>15 == 1) {
			t.Fatalf("%#04x: got %v, want %v", h, got, want)
		}
	}
}
