package model

// Config is the shape of a decoder and the blocks it is made of. The zero value of everything below ValueHead is Llama's.
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

	Norms       Norms   // where the norms of attention and MLP stand
	NormPlusOne bool    // norms multiply by 1 + weight (Gemma)
	QKNormWide  bool    // RMSNorm over all query heads together, and over all key heads, instead of QKNorm (OLMo 2)
	MLPBias     bool    // biases on the three projections of the MLP
	GELU        bool    // the MLP's gate is the tanh form of gelu instead of silu (Gemma)
	Fused       bool    // parameters are named as where q, k, v are one tensor, and gate, up another (Phi-3)
	Kinds       []Kind  // [Layers] kinds of attention; nil when all are the zero Kind
	Rotary      int     // leading elements of each head that rotate, even (Phi-4-mini); 0 is all
	Scaling     Scaling // how the rotary frequencies of long contexts differ; not for LocalRope layers
	LocalTheta  float64 // RopeTheta of layers with LocalRope

	// Factors and limits; 0 is none.
	EmbedScale     float32 // on the embeddings (Gemma, Granite)
	AttentionScale float32 // on queries times keys; 0 is 1/sqrt(HeadDim)
	AttentionCap   float32 // attention scores stay within ±this, by tanh (Gemma 2)
	ResidualScale  float32 // on what attention and MLP add to the residual stream (Granite)
	LogitScale     float32 // on the logits (Granite)
	LogitCap       float32 // logits stay within ±this, by tanh (Gemma 2)
}

// Norms says where RMSNorms stand around attention and around the MLP.
type Norms int

const (
	PreNorm  Norms = iota // before each: x + f(norm(x)) (Llama)
	PostNorm              // after each: x + norm(f(x)) (OLMo 2)
	Sandwich              // before and after: x + norm(f(norm(x))) (Gemma 2)
)

// Kind is how the attention of one layer departs from Llama's.
type Kind struct {
	Window    int  // most positions that a token sees, its own among them; 0 is all
	NoRope    bool // positions do not rotate (SmolLM3)
	LocalRope bool // they rotate by LocalTheta (Gemma 3)
}

// kind is layer l's.
func (c *Config) kind(l int) Kind {
	if c.Kinds == nil {
		return Kind{}
	}
	return c.Kinds[l]
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

// rotary is the width of a head that rotates.
func (c Config) rotary() int {
	if c.Rotary == 0 {
		return c.HeadDim
	}
	return c.Rotary
}

// qkNorm is the widths of one norm of queries and of one of keys: 0 when there are none.
func (c *Config) qkNorm() (q, k int) {
	switch {
	case c.QKNorm:
		return c.HeadDim, c.HeadDim
	case c.QKNormWide:
		return c.qDim(), c.kvDim()
	}
	return 0, 0
}

// pad rounds a row width up to whole vectors.
func pad(n int) int { return (n + 15) &^ 15 }
