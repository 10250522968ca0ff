// Element types of safetensors. Conversions to float32 are exact, or round to nearest even where float32 is narrower
// (F64 and wide integers); conversions from float32 round to nearest even, as PyTorch's do.

package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// DType is the type of a tensor's values in a file, under the name that safetensors gives it.
type DType string

// Types that can be read and written. Integers and BOOL can be read.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"     // IEEE 754 binary16
	BF16 DType = "BF16"    // the upper half of a float32
	E4M3 DType = "F8_E4M3" // 4 bits of exponent, no infinity: PyTorch's float8_e4m3fn
	E5M2 DType = "F8_E5M2" // PyTorch's float8_e5m2
)

var dtypeBytes = map[DType]int{
	"BOOL": 1, "U8": 1, "I8": 1, E5M2: 1, E4M3: 1,
	"U16": 2, "I16": 2, F16: 2, BF16: 2,
	"U32": 4, "I32": 4, F32: 4,
	"U64": 8, "I64": 8, F64: 8,
}

// otherDTypes are types of the format that are refused by name.
var otherDTypes = []DType{"F4", "F6_E2M3", "F6_E3M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C64"}

// check refuses types whose size is unknown here.
func (d DType) check() error {
	if dtypeBytes[d] > 0 {
		return nil
	}
	if slices.Contains(otherDTypes, d) {
		return fmt.Errorf("dtype %s is not supported; convert the tensor to BF16 or F32", d)
	}
	return fmt.Errorf("dtype %.20q is unknown", d)
}

// TorchName is the name in config.json, such as bfloat16; "" when PyTorch has no such type for weights.
func (d DType) TorchName() string {
	return map[DType]string{F64: "float64", F32: "float32", F16: "float16", BF16: "bfloat16", E4M3: "float8_e4m3fn", E5M2: "float8_e5m2"}[d]
}

// FitsInto reports whether every value of type d is a value of type to.
func (d DType) FitsInto(to DType) bool {
	if d == to && d != F64 { // values pass through float32
		return true
	}
	switch d {
	case E4M3, E5M2:
		return to == F16 || to == BF16 || to == F32 || to == F64
	case F16, BF16:
		return to == F32 || to == F64
	}
	return d == F32 && to == F64
}

// ParseDType accepts the names that users know, such as bfloat16, bf16 and BF16, of the types that can be written.
func ParseDType(name string) (DType, error) {
	for _, d := range []DType{F64, F32, F16, BF16, E4M3, E5M2} {
		if strings.EqualFold(name, string(d)) || strings.EqualFold(name, d.TorchName()) {
			return d, nil
		}
	}
	return "", fmt.Errorf("dtype %.20q is unknown (float32, bfloat16 and float16 are usual)", name)
}

// minifloat is a binary floating-point format below float32: one sign bit, then exponent, then fraction.
type minifloat struct {
	fraction int    // bits
	bias     int    // of the exponent
	nan      uint32 // without its sign
	top      uint32 // the highest finite number, without its sign
	over     uint32 // what is written above it: infinity, or NaN where there is none
}

var (
	half = minifloat{fraction: 10, bias: 15, nan: 0x7E00, top: 0x7BFF, over: 0x7C00}
	e5m2 = minifloat{fraction: 2, bias: 15, nan: 0x7F, top: 0x7B, over: 0x7C}
	e4m3 = minifloat{fraction: 3, bias: 7, nan: 0x7F, top: 0x7E, over: 0x7F}
)

// Half widens an IEEE 754 binary16: its bits, read as a float32, are the number times 2⁻¹¹².
func Half(bits uint16) float32 {
	sign, magnitude := uint32(bits>>15)<<31, uint32(bits&0x7FFF)<<13
	v := math.Float32bits(math.Float32frombits(magnitude) * 0x1p112)
	if v >= 0x47800000 { // 65536 and above: infinity or NaN
		v = 0x7F800000 | magnitude&0x7FFFFF
	}
	return math.Float32frombits(sign | v)
}

// widen returns the float32 of a number whose sign has been taken off.
func (m minifloat) widen(magnitude uint32, negative bool) float32 {
	sign := uint32(0)
	if negative {
		sign = 1 << 31
	}
	exponent, fraction := int(magnitude>>m.fraction), magnitude&(1<<m.fraction-1)
	switch {
	case magnitude > m.top && magnitude == m.over && m.over != m.nan:
		return math.Float32frombits(sign | 0x7F800000)
	case magnitude > m.top:
		return math.Float32frombits(sign | 0x7FC00000)
	case exponent == 0: // zero and subnormals: fraction × 2^(1 − bias − bits of fraction)
		unit := math.Float32frombits(uint32(127+1-m.bias-m.fraction) << 23)
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*unit))
	}
	return math.Float32frombits(sign | uint32(exponent-m.bias+127)<<23 | fraction<<(23-m.fraction))
}

// narrow returns the number nearest to v, and the sign bit.
func (m minifloat) narrow(v float32) (magnitude, sign uint32) {
	x := math.Float32bits(v)
	sign, x = x>>31, x&0x7FFFFFFF
	if x > 0x7F800000 {
		return m.nan, sign
	}
	exponent, fraction, shift := int(x>>23)-127+m.bias, x&0x7FFFFF|0x800000, 23-m.fraction
	if x>>23 == 0 {
		fraction &^= 0x800000 // subnormal in float32 already
	}
	if exponent < 1 {
		shift, exponent = shift+1-exponent, 1
	}
	if shift > 25 {
		return 0, sign
	}
	q, rest, middle := fraction>>shift, fraction&(1<<shift-1), uint32(1)<<(shift-1)
	if rest > middle || rest == middle && q&1 == 1 {
		q++
	}
	magnitude = uint32(exponent-1)<<m.fraction + q // a carry moves into the exponent, as it should
	if magnitude > m.top {
		magnitude = m.over
	}
	return magnitude, sign
}

// Decode fills dst from the little-endian bytes of src, which hold len(dst) values. Types narrower than float32 are
// widened exactly, F64 and integers rounded to nearest even.
func Decode(dst []float32, src []byte, from DType) error {
	le := binary.LittleEndian
	switch from {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(le.Uint32(src[4*i:]))
		}
	case BF16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(le.Uint16(src[2*i:])) << 16)
		}
	case F16:
		for i := range dst {
			dst[i] = Half(le.Uint16(src[2*i:]))
		}
	case F64:
		for i := range dst {
			dst[i] = float32(math.Float64frombits(le.Uint64(src[8*i:])))
		}
	case E4M3, E5M2:
		table := byteTable(from)
		for i := range dst {
			dst[i] = table[src[i]]
		}
	default:
		return decodeIntegers(dst, src, from)
	}
	return nil
}

// byteTable lists the values of an 8-bit type.
func byteTable(d DType) (table [256]float32) {
	m := e4m3
	if d == E5M2 {
		m = e5m2
	}
	for b := range uint32(256) {
		table[b] = m.widen(b&0x7F, b>>7 == 1)
	}
	return table
}

func decodeIntegers(dst []float32, src []byte, from DType) error {
	le := binary.LittleEndian
	var at func(i int) float32
	switch from {
	case "U8":
		at = func(i int) float32 { return float32(src[i]) }
	case "I8":
		at = func(i int) float32 { return float32(int8(src[i])) }
	case "U16":
		at = func(i int) float32 { return float32(le.Uint16(src[2*i:])) }
	case "I16":
		at = func(i int) float32 { return float32(int16(le.Uint16(src[2*i:]))) }
	case "U32":
		at = func(i int) float32 { return float32(le.Uint32(src[4*i:])) }
	case "I32":
		at = func(i int) float32 { return float32(int32(le.Uint32(src[4*i:]))) }
	case "U64":
		at = func(i int) float32 { return float32(le.Uint64(src[8*i:])) }
	case "I64":
		at = func(i int) float32 { return float32(int64(le.Uint64(src[8*i:]))) }
	case "BOOL":
		for i := range dst {
			if src[i] > 1 {
				return fmt.Errorf("value %d is %d, which is no BOOL", i, src[i])
			}
		}
		at = func(i int) float32 { return float32(src[i]) }
	default:
		return from.check()
	}
	for i := range dst {
		dst[i] = at(i)
	}
	return nil
}

// Encode appends the little-endian bytes of src, rounded to nearest even. A finite value that the type has no room for is
// an error.
func Encode(dst []byte, src []float32, to DType) ([]byte, error) {
	le := binary.LittleEndian
	switch to {
	case F64:
		for _, v := range src {
			dst = le.AppendUint64(dst, math.Float64bits(float64(v)))
		}
	case F32:
		for _, v := range src {
			dst = le.AppendUint32(dst, math.Float32bits(v))
		}
	case BF16:
		for i, v := range src {
			b := bfloat(v)
			if b&0x7FFF == 0x7F80 && v-v == 0 {
				return dst, tooLarge(i, v, to)
			}
			dst = le.AppendUint16(dst, b)
		}
	case F16:
		for i, v := range src {
			b, sign := half.narrow(v)
			if b > half.top && v-v == 0 {
				return dst, tooLarge(i, v, to)
			}
			dst = le.AppendUint16(dst, uint16(b|sign<<15))
		}
	case E4M3, E5M2:
		m := e4m3
		if to == E5M2 {
			m = e5m2
		}
		for i, v := range src {
			b, sign := m.narrow(v)
			if b > m.top && v-v == 0 {
				return dst, tooLarge(i, v, to)
			}
			dst = append(dst, byte(b|sign<<7))
		}
	default:
		return dst, fmt.Errorf("dtype %.20q cannot be written (F32, BF16, F16, F64, F8_E4M3 and F8_E5M2 can)", to)
	}
	return dst, nil
}

// ErrTooLarge marks a value that a type has no room for.
var ErrTooLarge = errors.New("too large")

func tooLarge(i int, v float32, to DType) error {
	return fmt.Errorf("value %d is %v, which is %w for %s; write BF16 or F32", i, v, ErrTooLarge, to)
}

// bfloat rounds v to its upper 16 bits.
func bfloat(v float32) uint16 {
	x := math.Float32bits(v)
	if x&0x7FFFFFFF > 0x7F800000 {
		return uint16(x>>16) | 0x40 // a NaN stays one
	}
	return uint16((uint64(x) + 0x7FFF + uint64(x>>16&1)) >> 16)
}
