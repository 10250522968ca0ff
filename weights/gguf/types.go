// The types of tensors: how many values share a block, and how many bytes a block takes.

package gguf

import "fmt"

// tensorType is ggml's number of a type.
type tensorType uint32

const (
	typeF32  tensorType = 0
	typeF16  tensorType = 1
	typeQ40  tensorType = 2
	typeQ41  tensorType = 3
	typeQ50  tensorType = 6
	typeQ51  tensorType = 7
	typeQ80  tensorType = 8
	typeQ4K  tensorType = 12
	typeQ5K  tensorType = 13
	typeQ6K  tensorType = 14
	typeBF16 tensorType = 30
)

// block is the unit in which values are stored.
type block struct {
	values, bytes int
	widen         func(dst []float32, src []byte) // one block; nil for types that are not quantized
}

var blocks = map[tensorType]block{
	typeF32:  {1, 4, nil},
	typeF16:  {1, 2, nil},
	typeBF16: {1, 2, nil},
	typeQ40:  {32, 2 + 16, widenQ40},
	typeQ41:  {32, 4 + 16, widenQ41},
	typeQ50:  {32, 2 + 4 + 16, widenQ50},
	typeQ51:  {32, 4 + 4 + 16, widenQ51},
	typeQ80:  {32, 2 + 32, widenQ80},
	typeQ4K:  {256, 4 + 12 + 128, widenQ4K},
	typeQ5K:  {256, 4 + 12 + 32 + 128, widenQ5K},
	typeQ6K:  {256, 128 + 64 + 16 + 2, widenQ6K},
}

var typeNames = map[tensorType]string{
	0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K",
	13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S",
	22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M", 30: "BF16", 34: "TQ1_0",
	35: "TQ2_0", 39: "MXFP4", 40: "NVFP4",
}

func (t tensorType) String() string {
	if name := typeNames[t]; name != "" {
		return name
	}
	return fmt.Sprintf("number %d", uint32(t))
}

// block refuses types that cannot be widened.
func (t tensorType) block() (block, error) {
	b, ok := blocks[t]
	if !ok {
		return b, fmt.Errorf("type %s is not supported (F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K are)", t)
	}
	return b, nil
}
