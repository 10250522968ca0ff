// What the losses read: a micro-batch with everything but its action tokens taken away.

package algo

import "fmt"

// Tokens is a micro-batch compacted to its N action tokens, in the order in which the engine scored them. Observation
// tokens are not in it, so nothing here can give them a gradient.
type Tokens struct {
	LogpNew   []float32 // [N] under the weights being trained, as the pass returned it
	LogpOld   []float32 // [N] under the learner's weights at the start of the step; nil: LogpNew, held constant
	LogpGen   []float32 // [N] as the generator reported; read by Correct
	LogpRef   []float32 // [N] under the reference; read by KLLoss
	Advantage []float32 // [N]
	Weight    []float32 // [N] mismatch weights, written by Correct; nil: 1
	Starts    []int32   // [S+1] segment s is tokens Starts[s]:Starts[s+1]; nil: all tokens are one segment
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

// Slice is the part lo:hi of a micro-batch. Its Starts are nil: cut where it does not matter.
func (in Tokens) Slice(lo, hi int) Tokens {
	cut := func(lane []float32) []float32 {
		if lane == nil {
			return nil
		}
		return lane[lo:hi]
	}
	return Tokens{LogpNew: cut(in.LogpNew), LogpOld: cut(in.LogpOld), LogpGen: cut(in.LogpGen), LogpRef: cut(in.LogpRef),
		Advantage: cut(in.Advantage), Weight: cut(in.Weight)}
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

// mustFit panics unless every lane that PolicyLoss reads has n tokens.
func (in *Tokens) mustFit(n int) {
	mustHave("LogpNew", len(in.LogpNew), n)
	mustHave("LogpOld", len(in.old()), n)
	mustHave("Advantage", len(in.Advantage), n)
	if in.Weight != nil {
		mustHave("Weight", len(in.Weight), n)
	}
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
		panic(fmt.Sprintf("algo: denominator %v; it is the number of action tokens of the whole step", denominator))
	}
}
