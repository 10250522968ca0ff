// Element types of safetensors: all are known by size, so that a file can be checked; F32, F16 and BF16 can be read.

package weights

import (
	"encoding/binary"
	"fmt"
	"math"
)

var dtypeBytes = map[string]uint64{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1,
	"U16": 2, "I16": 2, "F16": 2, "BF16": 2,
	"U32": 4, "I32": 4, "F32": 4,
	"U64": 8, "I64": 8, "F64": 8,
}

// convert fills dst from the little-endian bytes of src. All three conversions are exact.
func convert(dst []float32, src []byte, dtype string) error {
	switch dtype {
	case "F32":
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case "BF16":
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
		}
	case "F16":
		for i := range dst {
			dst[i] = half(binary.LittleEndian.Uint16(src[2*i:]))
		}
	default:
		return fmt.Errorf("dtype %s cannot be read (F32, F16 and BF16 can)", dtype)
	}
	return nil
}

// half widens an IEEE 754 binary16.
func half(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&0x1F), uint32(h&0x3FF)
	switch exponent {
	case 0: // zero and subnormals: fraction × 2⁻²⁴
		magnitude := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(magnitude))
	case 0x1F: // infinity and NaN
		return math.Float32frombits(sign | 0x7F800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
