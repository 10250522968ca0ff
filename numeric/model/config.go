package model

import (
	"errors"
	"fmt"
)

// Config is the shape of a decoder.
type Config struct {
	Vocab        int     // token ids are 0..Vocab-1
	Dim          int     // width of the residual stream; a multiple of 16
	Layers       int     // decoder blocks
	Heads        int     // query heads; a multiple of KVHeads
	KVHeads      int     // key/value heads
	HeadDim      int     // width of a head; even. Heads*HeadDim need not be Dim
	FFN          int     // hidden width of the MLP
	MaxPositions int     // longest sequence, tokens
	NormEps      float32 // added to the mean square in every RMSNorm
	RopeTheta    float64 // base of the rotary frequencies
	Tied         bool    // the head is the embedding matrix
	QKNorm       bool    // RMSNorm over each query and key head before the rotation (Qwen3)
	QKVBias      bool    // biases on the query, key and value projections
	OBias        bool    // bias on the attention's output projection
	ValueHead    bool    // one scalar per token from the final hidden state: score.weight [1, Dim]
}

// Validate reports everything that is wrong with c, naming each field.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("model: "+format, args...))
		}
	}
	between := func(name string, v, lo, hi int) {
		check(v >= lo && v <= hi, "%s is %d; it must be between %d and %d", name, v, lo, hi)
	}
	between("Vocab", c.Vocab, 2, 1<<20)
	between("Dim", c.Dim, 16, 1<<16)
	between("Layers", c.Layers, 1, 1<<10)
	between("Heads", c.Heads, 1, 1<<10)
	between("KVHeads", c.KVHeads, 1, 1<<10)
	between("HeadDim", c.HeadDim, 2, 1<<10)
	between("FFN", c.FFN, 1, 1<<18)
	between("MaxPositions", c.MaxPositions, 1, 1<<20)
	check(c.Dim%16 == 0, "Dim is %d; it must be a multiple of 16", c.Dim)
	check(c.HeadDim%2 == 0, "HeadDim is %d; it must be even", c.HeadDim)
	check(c.KVHeads < 1 || c.Heads%c.KVHeads == 0, "Heads is %d; it must be a multiple of KVHeads, %d", c.Heads, c.KVHeads)
	check(c.NormEps > 0 && c.NormEps < 1, "NormEps is %g; it must be above 0 and below 1", c.NormEps)
	check(c.RopeTheta >= 1 && c.RopeTheta <= 1e12, "RopeTheta is %g; it must be between 1 and 1e12", c.RopeTheta)
	return errors.Join(errs...)
}

// ParamCount is the number of weights; a tied head counts once.
func (c Config) ParamCount() int {
	total := 0
	for _, s := range layout(c) {
		total += s.size()
	}
	return total
}

// Widths of the fused rows: queries, then keys, then values; gate, then up.
func (c Config) qDim() int   { return c.Heads * c.HeadDim }
func (c Config) kvDim() int  { return c.KVHeads * c.HeadDim }
func (c Config) qkv() int    { return c.qDim() + 2*c.kvDim() }
func (c Config) gateUp() int { return 2 * c.FFN }

// pad rounds a row width up to whole vectors.
func pad(n int) int { return (n + 15) &^ 15 }
