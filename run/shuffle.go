package run

// shuffle deals the numbers out anew: a Fisher-Yates shuffle by a counter-based source, so that a control experiment is
// as repeatable as any other.
func shuffle(x []float64, seed, step uint64) {
	for i := len(x) - 1; i > 0; i-- {
		j := int(mix(seed, step, uint64(i)) % uint64(i+1))
		x[i], x[j] = x[j], x[i]
	}
}

// mix turns three numbers into one that looks random (SplitMix64's finaliser, Steele et al. 2014).
func mix(seed, step, i uint64) uint64 {
	x := seed
	for _, v := range [...]uint64{step, i} {
		x += 0x9e3779b97f4a7c15 * (v + 1)
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}
