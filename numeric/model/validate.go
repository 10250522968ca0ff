package model

import (
	"errors"
	"fmt"
)

// Validate reports everything that is wrong with c, naming each field.
func (c Config) Validate() error {
	var v faults
	c.checkNumbers(&v)
	c.checkBlocks(&v)
	c.checkKinds(&v)
	c.checkFactors(&v)
	return errors.Join(v...)
}

// faults are what is wrong.
type faults []error

func (v *faults) check(ok bool, format string, args ...any) {
	if !ok {
		*v = append(*v, fmt.Errorf("model: "+format, args...))
	}
}

func (v *faults) between(name string, n, low, high int) {
	v.check(n >= low && n <= high, "%s is %d; it must be between %d and %d", name, n, low, high)
}

func (c Config) checkNumbers(v *faults) {
	v.between("Vocab", c.Vocab, 2, 1<<20)
	v.between("Dim", c.Dim, 16, 1<<16)
	v.between("Layers", c.Layers, 1, 1<<10)
	v.between("Heads", c.Heads, 1, 1<<10)
	v.between("KVHeads", c.KVHeads, 1, 1<<10)
	v.between("HeadDim", c.HeadDim, 2, 1<<10)
	v.between("FFN", c.FFN, 1, 1<<18)
	v.between("MaxPositions", c.MaxPositions, 1, 1<<20)
	v.check(c.Dim%16 == 0, "Dim is %d; it must be a multiple of 16", c.Dim)
	v.check(c.HeadDim%2 == 0, "HeadDim is %d; it must be even", c.HeadDim)
	v.check(c.KVHeads < 1 || c.Heads%c.KVHeads == 0, "Heads is %d; it must be a multiple of KVHeads, %d", c.Heads, c.KVHeads)
	v.check(c.NormEps > 0 && c.NormEps < 1, "NormEps is %g; it must be above 0 and below 1", c.NormEps)
	v.check(c.RopeTheta >= 1 && c.RopeTheta <= 1e12, "RopeTheta is %g; it must be between 1 and 1e12", c.RopeTheta)
}

func (c Config) checkBlocks(v *faults) {
	v.check(c.Norms >= PreNorm && c.Norms <= Sandwich, "Norms is %d; it must be PreNorm, PostNorm or Sandwich", c.Norms)
	v.check(!c.QKNorm || !c.QKNormWide, "QKNorm and QKNormWide exclude each other")
	v.check(!c.Fused || !c.QKVBias && !c.MLPBias, "Fused has no names for biases")
	v.check(c.Rotary >= 0 && c.Rotary <= c.HeadDim && c.Rotary%2 == 0, "Rotary is %d; it must be even and at most HeadDim, %d", c.Rotary, c.HeadDim)
	v.check(c.Scaling.Type != "yarn" || c.RopeTheta > 1, "RopeTheta is %g; yarn needs more than 1", c.RopeTheta)
	v.check(c.Scaling.Type != "longrope" || c.MaxPositions <= c.Scaling.Original, "MaxPositions is %d; longrope changes beyond %d",
		c.MaxPositions, c.Scaling.Original)
	if err := c.Scaling.validate(c.rotary() / 2); err != nil {
		v.check(false, "Scaling: %w", err)
	}
}

func (c Config) checkKinds(v *faults) {
	v.check(c.Kinds == nil || len(c.Kinds) == c.Layers, "Kinds has %d layers of %d", len(c.Kinds), c.Layers)
	for l, k := range c.Kinds {
		v.check(k.Window >= 0, "layer %d has a Window of %d; it must not be below 0", l, k.Window)
		v.check(!k.NoRope || !k.LocalRope, "layer %d has both NoRope and LocalRope", l)
		v.check(!k.LocalRope || c.LocalTheta >= 1 && c.LocalTheta <= 1e12, "LocalTheta is %g; it must be between 1 and 1e12", c.LocalTheta)
	}
}

func (c Config) checkFactors(v *faults) {
	for _, f := range []struct {
		name  string
		value float32
	}{{"EmbedScale", c.EmbedScale}, {"AttentionScale", c.AttentionScale}, {"AttentionCap", c.AttentionCap},
		{"ResidualScale", c.ResidualScale}, {"LogitScale", c.LogitScale}, {"LogitCap", c.LogitCap}} {
		v.check(f.value >= 0 && f.value <= 1e6, "%s is %g; it must be between 0 and 1e6", f.name, f.value)
	}
}
