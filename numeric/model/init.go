package model

import (
	"math"
	"strings"
)

// embedStd is the standard deviation of fresh embeddings.
const embedStd = 0.05

// Init draws fresh weights from seed: embeddings N(0, 0.05²), projections N(0, 1/fan_in) with o and down further scaled by
// 1/sqrt(2 Layers), norms 1 (0 where they add 1 themselves), biases and the value head 0. A weight depends on seed, its tensor's name and its index only,
// and has the same bits on every machine. Refresh afterwards.
func (m *Model) Init(seed uint64) {
	for _, p := range m.params {
		switch {
		case strings.HasSuffix(p.Name, "norm.weight") && !m.config.NormPlusOne:
			fill(p.Data, 1)
		case !p.Decay || p.Name == "score.weight":
			fill(p.Data, 0)
		default:
			normal(p.Data, mix(seed^nameHash(p.Name)), m.config.std(p))
		}
	}
}

// std is the standard deviation of a fresh matrix.
func (c Config) std(p Param) float64 {
	switch {
	case p.Name == "model.embed_tokens.weight":
		return embedStd
	case strings.HasSuffix(p.Name, "o_proj.weight"), strings.HasSuffix(p.Name, "down_proj.weight"):
		return 1 / math.Sqrt(float64(p.Shape[1]*2*c.Layers))
	}
	return 1 / math.Sqrt(float64(p.Shape[1]))
}

// normal fills w with draws of (nearly) N(0, std²): each is the sum of twelve uniform 16-bit integers, centred, so that
// only the last step rounds and no library function is involved. |draw| < 6 std.
func normal(w []float32, key uint64, std float64) {
	const mean = 12 * 65535 / 2
	scale := std / 65536
	for i := range w {
		sum := 0
		for j := range uint64(3) {
			bits := mix(key + 3*uint64(i) + j)
			for ; bits != 0; bits >>= 16 {
				sum += int(bits & 0xffff)
			}
		}
		w[i] = float32(float64(sum-mean) * scale)
	}
}

// mix is SplitMix64's output function over a counter (Steele, Lea and Flood 2014).
func mix(counter uint64) uint64 {
	z := (counter + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// nameHash is FNV-1a.
func nameHash(name string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, b := range []byte(name) {
		h = (h ^ uint64(b)) * 0x100000001b3
	}
	return h
}

func fill(w []float32, v float32) {
	for i := range w {
		w[i] = v
	}
}
