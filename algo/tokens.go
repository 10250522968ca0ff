// What the losses read: a micro-batch with everything but its action tokens taken away.

package algo

import "fmt"

// Tokens is a micro-batch compacted to its N action tokens, in the order in which the engine scored them. Observation
// tokens are not in it, so nothing here can give them a gradient.
type Tokens struct {
	LogpNew   []float32 // [N] under the weights being trained, as the pass returned it
	LogpOld   []float32 // [N] under the learner's weights at the start of the batch; nil: LogpNew, held constant
	LogpGen   []float32 // [N] as the generator reported; read by Correct
	LogpRef   []float32 // [N] under the reference; read by KLLoss
	Advantage []float32 // [N]
	Weight    []float32 // [N] mismatch weights, written by Correct and WeighLag; nil: 1
	Share     []float32 // [N] part of each token in the loss, written by Shares; nil: 1
	Lag       []int32   // [N] versions by which the learner, at the start of the batch, was ahead of the token's; read by WeighLag

	Entropy  []float32 // [N] nats, from the pass; read by EntropyLoss
	Value    []float32 // [N] of the critic being trained, from the pass; read by ValueLoss
	ValueOld []float32 // [N] of the critic at the start of the batch
	Return   []float32 // [N] what the critic should have said; from Batch.Return

	Starts        []int32 // [S+1] segment s is tokens Starts[s]:Starts[s+1]; nil: all tokens are one segment
	RolloutTokens []int32 // [S] action tokens of the rollout that a segment is part of, in all its segments; nil: in this one
}

// Gather appends to dst the values of a segment's action tokens. src and action are [T].
func Gather(dst, src []float32, action []bool) []float32 {
	mustHave("segment", len(src), len(action))
	for t, a := range action {
		if a {
			dst = append(dst, src[t])
		}
	}
	return dst
}

// old is LogpOld, or LogpNew where no step lies between the two.
func (in *Tokens) old() []float32 {
	if in.LogpOld == nil {
		return in.LogpNew
	}
	return in.LogpOld
}

// segments is Starts, or the bounds of the only segment.
func (in *Tokens) segments(n int) []int32 {
	if in.Starts == nil {
		return []int32{0, int32(n)}
	}
	mustHave("first of Starts", int(in.Starts[0]), 0)
	mustHave("last of Starts", int(in.Starts[len(in.Starts)-1]), n)
	return in.Starts
}

// mustShare panics unless Share, where there is one, has n tokens.
func (in *Tokens) mustShare(n int) {
	if in.Share != nil {
		mustHave("Share", len(in.Share), n)
	}
}

// share is token i's part in the loss.
func (in *Tokens) share(i int) float64 {
	if in.Share == nil {
		return 1
	}
	return float64(in.Share[i])
}

// weight is token i's mismatch weight.
func (in *Tokens) weight(i int) float64 {
	if in.Weight == nil {
		return 1
	}
	return float64(in.Weight[i])
}

// finite reports whether x is neither infinite nor NaN. A sum of values that came from float32 is finite exactly when
// all of them are.
func finite(x float64) bool { return x-x == 0 }

func mustHave(what string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("algo: %s: %d values where %d belong", what, got, want))
	}
}

// mustDivide refuses a denominator that would turn a gradient into nonsense.
func mustDivide(denominator float64) {
	if !(denominator > 0) || !finite(denominator) {
		panic(fmt.Sprintf("algo: denominator %v; it counts what the whole step trains on, as LossConfig.Denominator does", denominator))
	}
}
