// Randomness by counter: what is drawn is a function of what it is for.

package shop

import "math/bits"

// purpose keeps the draws of different uses apart.
type purpose uint64

const (
	forSplit purpose = iota + 1
	forTrain
	forHeldOut
	forDemo
	forPrice
)

// dice is SplitMix64 (Steele, Lea, Flood 2014).
type dice struct{ state uint64 }

// diceFor is the source of the i-th thing of a purpose.
func diceFor(seed uint64, p purpose, i int) dice {
	return dice{mix(mix(seed+uint64(p)*gamma) + uint64(i)*gamma)}
}

const gamma = 0x9e3779b97f4a7c15

func (d *dice) next() uint64 {
	d.state += gamma
	return mix(d.state)
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// between is a number from low to high, both included. Its bias is below (high-low)/2^64 (Lemire 2019).
func (d *dice) between(low, high int) int {
	n, _ := bits.Mul64(d.next(), uint64(high-low)+1)
	return low + int(n)
}

// percent is true in so many of a hundred cases.
func (d *dice) percent(p int) bool { return d.between(1, 100) <= p }
