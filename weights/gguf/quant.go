// Widening quantized blocks to float32, bit for bit as ggml's reference does: the same products and sums in the same
// order, none of them fused. d is a block's scale and m its offset, both binary16; q are the small integers.

package gguf

import (
	"encoding/binary"

	"molt/weights"
)

func half(b []byte) float32 { return weights.Half(binary.LittleEndian.Uint16(b)) }

// widenQ40: d, then 32 × 4 bits, the low halves of 16 bytes first. d·(q − 8).
func widenQ40(dst []float32, src []byte) {
	d := half(src)
	for i, b := range src[2:18] {
		dst[i] = d * float32(int(b&15)-8)
		dst[i+16] = d * float32(int(b>>4)-8)
	}
}

// widenQ41: d, m, then 32 × 4 bits. d·q + m.
func widenQ41(dst []float32, src []byte) {
	d, m := half(src), half(src[2:])
	for i, b := range src[4:20] {
		dst[i] = float32(d*float32(b&15)) + m
		dst[i+16] = float32(d*float32(b>>4)) + m
	}
}

// widenQ50: d, the fifth bits of 32 values, then their low 4 bits. d·(q − 16).
func widenQ50(dst []float32, src []byte) {
	d, high := half(src), binary.LittleEndian.Uint32(src[2:])
	for i, b := range src[6:22] {
		dst[i] = d * float32(int(uint32(b&15)|high>>i&1<<4)-16)
		dst[i+16] = d * float32(int(uint32(b>>4)|high>>(i+16)&1<<4)-16)
	}
}

// widenQ51: d, m, the fifth bits, the low bits. d·q + m.
func widenQ51(dst []float32, src []byte) {
	d, m, high := half(src), half(src[2:]), binary.LittleEndian.Uint32(src[4:])
	for i, b := range src[8:24] {
		dst[i] = float32(d*float32(uint32(b&15)|high>>i&1<<4)) + m
		dst[i+16] = float32(d*float32(uint32(b>>4)|high>>(i+16)&1<<4)) + m
	}
}

// widenQ80: d, then 32 × int8. d·q.
func widenQ80(dst []float32, src []byte) {
	d := half(src)
	for i, b := range src[2:34] {
		dst[i] = d * float32(int8(b))
	}
}

// scaleMin unpacks the i-th of 8 scales and minima, 6 bits each in 12 bytes.
func scaleMin(i int, packed []byte) (scale, minimum float32) {
	if i < 4 {
		return float32(packed[i] & 63), float32(packed[i+4] & 63)
	}
	return float32(packed[i+4]&15 | packed[i-4]>>6<<4), float32(packed[i+4]>>4 | packed[i]>>6<<4)
}

// widenQ4K: d, m, 8 scales and minima, then 256 × 4 bits; 32 values share a scale. d·scale·q − m·minimum.
func widenQ4K(dst []float32, src []byte) {
	d, m, packed, low := half(src), half(src[2:]), src[4:16], src[16:144]
	for i := range 8 {
		scale, minimum := scaleMin(i, packed)
		d, m := d*scale, m*minimum
		for j, b := range low[i/2*32:][:32] {
			dst[32*i+j] = float32(d*float32(b>>(i%2*4)&15)) - m
		}
	}
}

// widenQ5K is widenQ4K with the fifth bits of 256 values before their low 4 bits.
func widenQ5K(dst []float32, src []byte) {
	d, m, packed, high, low := half(src), half(src[2:]), src[4:16], src[16:48], src[48:176]
	for i := range 8 {
		scale, minimum := scaleMin(i, packed)
		d, m := d*scale, m*minimum
		for j, b := range low[i/2*32:][:32] {
			q := b>>(i%2*4)&15 | high[j]>>i&1<<4
			dst[32*i+j] = float32(d*float32(q)) - m
		}
	}
}

// widenQ6K: the low 4 bits of 256 values, their upper 2 bits, 16 scales of int8, d; 16 values share a scale.
// d·scale·(q − 32).
func widenQ6K(dst []float32, src []byte) {
	low, high, scales, d := src[:128], src[128:192], src[192:208], half(src[208:])
	for i := range 256 {
		half, k := i/128, i%128 // each half has 64 bytes of low bits and 32 of high bits
		q := low[64*half+k%64]>>(k/64*4)&15 | high[32*half+k%32]>>(k/32*2)&3<<4
		dst[i] = float32(d*float32(int8(scales[i/16]))) * float32(int(q)-32)
	}
}
