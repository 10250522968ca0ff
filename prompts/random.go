// Randomness by counter: every number is a function of what it is for, so nothing has to be remembered to go on.

package prompts

import (
	"hash/fnv"
	"io"
	"math/bits"
)

// purpose keeps the numbers of different uses apart.
type purpose uint64

const (
	seedOfRow purpose = iota + 1
	shuffling
)

// draw is the i-th number of a set's epoch for one purpose.
func draw(seed uint64, set string, epoch int64, use purpose, i uint64) uint64 {
	h := fnv.New64a()
	io.WriteString(h, set) // a hash never fails
	x := seed
	for _, part := range [...]uint64{h.Sum64(), uint64(epoch), uint64(use), i} {
		x = mix(x + part)
	}
	return x
}

// mix is the output function of SplitMix64 (Steele, Lea, Flood 2014) with its increment: a bijection that leaves no
// visible relation between neighbours.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// shuffled is a permutation of 0..n-1 for a set's epoch (Fisher and Yates). An index below i comes from the high half of a
// 128-bit product (Lemire 2019) without its rejection step: the bias is below n/2^64.
func shuffled(n int, seed uint64, set string, epoch int64) []int32 {
	order := inOrder(n)
	for i := n - 1; i > 0; i-- {
		j, _ := bits.Mul64(draw(seed, set, epoch, shuffling, uint64(i)), uint64(i)+1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

func inOrder(n int) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	return order
}
