package model

import (
	"fmt"
	"math"
)

// Scaling changes the rotary frequencies for contexts longer than those that a model was first trained on. The formulas are
// those of Hugging Face transformers. Fields that a Type does not name are not read.
type Scaling struct {
	Type     string  // "" none, or linear, dynamic (grows with sequences beyond MaxPositions: so never), llama3, yarn, longrope
	Factor   float64 // all: how much longer, at least 1
	Original int     // llama3, yarn, longrope: positions of the first training

	LowFreq, HighFreq float64 // llama3: wavelengths above Original/LowFreq stretch by Factor, below Original/HighFreq not at all

	BetaFast, BetaSlow float64 // yarn: rotations within Original above which frequencies stay, below which they stretch
	Exact              bool    // yarn: the ramp between the two is not rounded outwards to whole frequencies

	Short []float64 // longrope: what each frequency is divided by in sequences up to Original; there are no longer ones

	Attention float64 // yarn, longrope: factor on cosines and sines; 0 follows from Factor
}

func (s Scaling) validate(half int) error {
	switch s.Type {
	case "":
		return nil
	case "linear", "dynamic", "llama3", "yarn", "longrope":
	default:
		return fmt.Errorf("type %q is none of linear, dynamic, llama3, yarn, longrope", s.Type)
	}
	switch {
	case !(s.Factor >= 1 && s.Factor <= 1e6):
		return fmt.Errorf("factor %g; it must be between 1 and 1e6", s.Factor)
	case s.Type != "linear" && s.Type != "dynamic" && (s.Original < 2 || s.Original > 1<<30):
		return fmt.Errorf("original positions %d; there must be between 2 and 2^30", s.Original)
	case s.Type == "llama3" && !(s.LowFreq > 0 && s.HighFreq > s.LowFreq && s.HighFreq <= 1e6):
		return fmt.Errorf("low frequency factor %g, high %g; they must be above 0 and ascend", s.LowFreq, s.HighFreq)
	case s.Type == "yarn" && !(s.BetaSlow > 0 && s.BetaFast >= s.BetaSlow && s.BetaFast <= 1e6):
		return fmt.Errorf("slow beta %g, fast %g; they must be above 0 and not descend", s.BetaSlow, s.BetaFast)
	case !(s.Attention >= 0 && s.Attention <= 1e3):
		return fmt.Errorf("attention factor %g; it must be between 0 and 1000", s.Attention)
	}
	return s.validateShort(half)
}

func (s Scaling) validateShort(half int) error {
	if s.Type != "longrope" {
		return nil
	}
	if len(s.Short) != half {
		return fmt.Errorf("%d short factors; a head has %d frequencies", len(s.Short), half)
	}
	for _, v := range s.Short {
		if !(v > 0 && v <= 1e6) {
			return fmt.Errorf("short factor %g; it must be above 0 and at most 1e6", v)
		}
	}
	return nil
}

// frequencies are theta^(-i/half) for i < half, scaled. Every step rounds to float32 as in transformers, so that angles agree
// at far positions too.
func (s Scaling) frequencies(theta float64, half int) []float32 {
	base, scale := root(theta, half), s.scale(theta, half)
	f := make([]float32, half)
	for i := range f {
		rounded := float64(float32(2*i)/float32(2*half)) - float64(i)/float64(half) // error of the exponent
		f[i] = scale(i, float32(power(base, i)*(1+float64(rounded*logarithm(theta)))))
	}
	return f
}

// scale is how the i-th frequency follows from its inverse p.
func (s Scaling) scale(theta float64, half int) func(i int, p float32) float32 {
	factor := float32(s.Factor)
	switch s.Type {
	case "linear":
		return func(_ int, p float32) float32 { return 1 / p / factor }
	case "llama3":
		return func(_ int, p float32) float32 { return s.llama3(1/p, factor) }
	case "yarn":
		low, high := s.ramp(theta, half)
		return func(i int, p float32) float32 {
			keep := 1 - min(1, max(0, (float32(i)-float32(low))/float32(high-low)))
			return float32(1/float32(factor*p)*(1-keep)) + float32(1/p*keep)
		}
	case "longrope":
		return func(i int, p float32) float32 { return 1 / float32(float32(s.Short[i])*p) }
	}
	return func(_ int, p float32) float32 { return 1 / p }
}

// llama3 stretches wavelengths that the first training saw less than once, and blends between (Llama 3.1).
func (s Scaling) llama3(f, factor float32) float32 {
	wavelength, original := 2*math.Pi/f, float32(s.Original)
	switch {
	case wavelength > float32(float64(s.Original)/s.LowFreq):
		return f / factor
	case wavelength < float32(float64(s.Original)/s.HighFreq):
		return f
	}
	keep := (original/wavelength - float32(s.LowFreq)) / float32(s.HighFreq-s.LowFreq)
	return float32((1-keep)*f)/factor + float32(keep*f)
}

// ramp is where frequencies begin to stretch and where they fully do (Peng et al. 2023).
func (s Scaling) ramp(theta float64, half int) (low, high float64) {
	at := func(turns float64) float64 {
		return float64(half) * logarithm(float64(s.Original)/float64(turns*2*math.Pi)) / logarithm(theta)
	}
	low, high = at(s.BetaFast), at(s.BetaSlow)
	if !s.Exact {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(2*half-1))
	if low == high {
		high += 0.001
	}
	return low, high
}

// attention is the factor on cosines and sines.
func (s Scaling) attention() float32 {
	switch {
	case s.Type != "yarn" && s.Type != "longrope":
		return 1
	case s.Attention != 0:
		return float32(s.Attention)
	case s.Factor <= 1:
		return 1
	case s.Type == "yarn":
		return float32(float64(0.1*logarithm(s.Factor)) + 1)
	}
	return float32(math.Sqrt(1 + logarithm(s.Factor)/logarithm(float64(s.Original))))
}

// logarithm is the natural logarithm of x > 0, to about 1e-16, with the same bits on every machine: with x = f 2^k and f
// between sqrt(1/2) and sqrt(2), log f = 2 atanh((f-1)/(f+1)).
func logarithm(x float64) float64 {
	f, k := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f *= 2
		k--
	}
	s := (f - 1) / (f + 1)
	z, p := float64(s*s), 0.0
	for i := 25.0; i >= 1; i -= 2 {
		p = float64(p*z) + 1/i
	}
	return float64(float64(k)*math.Ln2) + float64(2*s*p)
}
