package weights

import (
	"encoding/binary"
	"encoding/json/v2"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestDecodeLiterals(t *testing.T) {
	for _, c := range []struct {
		dtype DType
		src   []byte
		want  []float32
	}{
		{F32, []byte{0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0}, []float32{1, -2}},
		{BF16, []byte{0x80, 0x3F, 0x49, 0x40, 0x00, 0x80}, []float32{1, 3.140625, 0}},
		{F16, []byte{0x00, 0x3C, 0x00, 0xC0, 0xFF, 0x7B, 0x01, 0x00, 0x00, 0x04, 0xFF, 0x03}, []float32{1, -2, 65504, 0x1p-24, 0x1p-14, 1023 * 0x1p-24}},
		{F64, []byte{0, 0, 0, 0, 0, 0, 0xF0, 0x3F}, []float32{1}},
		{E4M3, []byte{0x38, 0x7E, 0xFE, 0x01, 0x08}, []float32{1, 448, -448, 0x1p-9, 0x1p-6}},
		{E5M2, []byte{0x3C, 0x7B, 0xFB, 0x01, 0x04}, []float32{1, 57344, -57344, 0x1p-16, 0x1p-14}},
		{"I8", []byte{0x80, 0x7F}, []float32{-128, 127}},
		{"I64", []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, []float32{-1}},
		{"U64", []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, []float32{0x1p64}},
		{"U32", []byte{1, 0, 0, 1}, []float32{0x1p24}}, // 2²⁴ + 1 rounds to even
		{"BOOL", []byte{0, 1}, []float32{0, 1}},
	} {
		got := make([]float32, len(c.want))
		if err := Decode(got, c.src, c.dtype); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v %v, want %v", c.dtype, got, err, c.want)
		}
	}
	if err := Decode(make([]float32, 1), []byte{2}, "BOOL"); err == nil {
		t.Error("a BOOL of 2 was accepted")
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

// conversions.json holds digests of what PyTorch makes of every value of a type, and of three million float32 values at
// and beside every boundary of rounding.
func TestConversionsArePyTorchs(t *testing.T) {
	var want map[DType]struct {
		Widen        string
		Narrow       string
		NarrowDouble string `json:"narrow_double"`
	}
	data, err := os.ReadFile("testdata/golden/conversions.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &want, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	inputs := grid()
	for _, dtype := range []DType{F16, BF16, E4M3, E5M2} {
		all := everyBits(dtype)
		widened := make([]float32, len(all)/dtypeBytes[dtype])
		if err := Decode(widened, all, dtype); err != nil {
			t.Fatal(err)
		}
		if got := canonical(widened); got != want[dtype].Widen {
			t.Errorf("%s: widening every value differs from PyTorch", dtype)
		}
		narrowed := make([]float32, len(inputs))
		if err := Decode(narrowed, narrowAll(inputs, dtype), dtype); err != nil {
			t.Fatal(err)
		}
		if got := canonical(narrowed); got != want[dtype].Narrow {
			t.Errorf("%s: narrowing differs from PyTorch", dtype)
		}
	}
	var doubles []byte
	for _, k := range []float64{0, 1, -1} {
		for _, v := range inputs {
			doubles = binary.LittleEndian.AppendUint64(doubles, math.Float64bits(float64(v)*(1+k*0x1p-25)))
		}
	}
	rounded := make([]float32, 3*len(inputs))
	if err := Decode(rounded, doubles, F64); err != nil {
		t.Fatal(err)
	}
	if canonical(rounded) != want[F64].NarrowDouble {
		t.Error("F64: rounding differs from PyTorch")
	}
}

func grid() (out []float32) {
	for upper := range uint32(1 << 16) {
		for n := range uint32(16) {
			for _, d := range []uint32{0, 1, 0xFFF} {
				out = append(out, math.Float32frombits(upper<<16|n<<12+d))
			}
		}
	}
	return out
}

// everyBits are all values of a type, in the order of their bits.
func everyBits(dtype DType) (out []byte) {
	if dtypeBytes[dtype] == 1 {
		for b := range 256 {
			out = append(out, byte(b))
		}
		return out
	}
	for b := range 1 << 16 {
		out = binary.LittleEndian.AppendUint16(out, uint16(b))
	}
	return out
}

// narrowAll narrows what Encode refuses too: infinity, NaN and values that are too large.
func narrowAll(values []float32, dtype DType) (out []byte) {
	for _, v := range values {
		if dtype == BF16 {
			out = binary.LittleEndian.AppendUint16(out, bfloat(v))
			continue
		}
		m := map[DType]minifloat{F16: half, E4M3: e4m3, E5M2: e5m2}[dtype]
		if dtype == E4M3 && (v > 464 || v < -464) {
			v = 0 // PyTorch's releases differ here
		}
		b, sign := m.narrow(v)
		if dtype == F16 {
			out = binary.LittleEndian.AppendUint16(out, uint16(b|sign<<15))
		} else {
			out = append(out, byte(b|sign<<7))
		}
	}
	return out
}

// canonical is the digest of values with every NaN written alike.
func canonical(values []float32) string {
	var bytes []byte
	for _, v := range values {
		bits := math.Float32bits(v)
		if v != v {
			bits = 0x7FC00000
		}
		bytes = binary.LittleEndian.AppendUint32(bytes, bits)
	}
	return hexSum(bytes)
}

func TestEncodeRefusesWhatDoesNotFit(t *testing.T) {
	for _, c := range []struct {
		dtype DType
		value float32
		want  string
	}{
		{F16, 65520, "value 1 is 65520, which is too large for F16; write BF16 or F32"},
		{F16, 65519, ""},
		{E4M3, 465, "too large for F8_E4M3"},
		{E4M3, 464, ""}, // the middle between 448 and the next: to even
		{E5M2, -61440, "too large for F8_E5M2"},
		{BF16, math.MaxFloat32, "too large for BF16"},
		{"I8", 1, `dtype "I8" cannot be written`},
	} {
		_, err := Encode(nil, []float32{0, c.value}, c.dtype)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v as %s: got %v, want %q", c.value, c.dtype, err, c.want)
		}
	}
}

func TestParseDType(t *testing.T) {
	for name, want := range map[string]DType{"bfloat16": BF16, "bf16": BF16, "F32": F32, "float32": F32, "float16": F16, "float8_e4m3fn": E4M3} {
		if got, err := ParseDType(name); got != want || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := ParseDType("int8"); err == nil {
		t.Error("int8 was accepted")
	}
}

// BenchmarkDecode reports bytes of the narrow type.
func BenchmarkDecode(b *testing.B) {
	for _, dtype := range []DType{F32, BF16, F16, E4M3} {
		b.Run(string(dtype), func(b *testing.B) {
			src, dst := make([]byte, 1<<20), make([]float32, 1<<20/dtypeBytes[dtype])
			b.SetBytes(1 << 20)
			for b.Loop() {
				if err := Decode(dst, src, dtype); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
