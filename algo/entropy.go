// The entropy bonus: what keeps a policy from deciding too early.

package algo

// EntropyLoss adds to dEntropy [N] the derivative of −coef · Σ a·H / denominator by each token's entropy H (in.Entropy):
// −coef·a/denominator, with a from in.Share. It returns the sum of H. A value that is not finite adds nothing.
func EntropyLoss(dEntropy []float32, in Tokens, coef, denominator float64) float64 {
	mustHave("Entropy", len(in.Entropy), len(dEntropy))
	in.mustShare(len(dEntropy))
	if len(dEntropy) > 0 {
		mustDivide(denominator)
	}
	var sum float64
	for i, h := range in.Entropy {
		if finite(float64(h) + in.share(i)) {
			dEntropy[i] -= float32(coef * in.share(i) / denominator)
			sum += float64(h)
		}
	}
	return sum
}
