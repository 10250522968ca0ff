package engine

import "math"

// Adapter is a low-rank update of some matrices of a model (LoRA; Hu et al. 2021, arXiv 2106.09685): a matrix NAME.weight
// of the base becomes
//
//	W = W0 + Scale() · B A
//
// with A [Rank, in] and B [out, Rank]. Names are those of PEFT without its prefix.
type Adapter struct {
	Base    string // fingerprint of the weights that it changes
	Rank    int
	Alpha   float64
	RSLoRA  bool     // scale by the root of the rank
	Tensors []Tensor // for each matrix: NAME.lora_A.weight, NAME.lora_B.weight
}

// Ends of the names of an adapter's tensors.
const (
	FactorA = ".lora_A.weight"
	FactorB = ".lora_B.weight"
)

// Scale is Alpha/Rank, or, so that higher ranks learn as fast, Alpha/sqrt(Rank) (Kalajdzievski 2023, arXiv 2312.03732).
func (a *Adapter) Scale() float64 {
	if a.RSLoRA {
		return a.Alpha / math.Sqrt(float64(a.Rank))
	}
	return a.Alpha / float64(a.Rank)
}
