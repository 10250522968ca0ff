// What differs between architectures and between the layers of one: each reader asks config.json for the fields that its
// architecture honours, and takes what transformers takes when they are absent.

package weights

import "slices"

const (
	fullAttention    = "full_attention"
	slidingAttention = "sliding_attention"
)

func readAttentionBias(f *fields, c *ModelConfig) {
	c.AttentionBias = field(f, "attention_bias", false)
}

func readBiases(f *fields, c *ModelConfig) {
	readAttentionBias(f, c)
	c.MLPBias = field(f, "mlp_bias", false)
}

// readUniformWindow is for windows that hold in all layers when they are there.
func readUniformWindow(absent int) func(*fields, *ModelConfig) {
	return func(f *fields, c *ModelConfig) { c.slide(f, f.window(absent), nil, func(int) bool { return true }) }
}

func readMinistral(f *fields, c *ModelConfig) {
	c.slide(f, f.window(4096), f.layerTypes(), func(int) bool { return true })
}

// readQwenWindows: the layers above max_window_layers slide, if any do.
func readQwenWindows(f *fields, c *ModelConfig) {
	window, first := f.window(4096), field(f, "max_window_layers", 28)
	if !field(f, "use_sliding_window", false) {
		window = 0
	}
	c.slide(f, window, f.layerTypes(), func(l int) bool { return l >= first })
}

func readQwen3(f *fields, c *ModelConfig) {
	readAttentionBias(f, c)
	readQwenWindows(f, c)
}

// readSmolLM3: no_rope_layers has a 1 for each layer that rotates, despite its name; by default every fourth does not.
func readSmolLM3(f *fields, c *ModelConfig) {
	readBiases(f, c)
	f.read["pretraining_tp"] = true // published as 2; nothing reads it
	rotates, interval := field[[]int](f, "no_rope_layers", nil), field(f, "no_rope_layer_interval", 4)
	if interval < 1 {
		f.fail("no_rope_layer_interval: %d must be positive", interval)
		return
	}
	for l := 0; rotates == nil && l < c.NumHiddenLayers; l++ {
		c.NoRope = append(c.NoRope, (l+1)%interval == 0)
	}
	for _, r := range rotates {
		c.NoRope = append(c.NoRope, r == 0)
	}
	if len(c.NoRope) != c.NumHiddenLayers {
		f.fail("no_rope_layers: has %d entries for %d layers", len(c.NoRope), c.NumHiddenLayers)
		return
	}
	window := f.window(0)
	if !field(f, "use_sliding_window", false) {
		window = 0
	}
	noRope := c.NoRope
	c.slide(f, window, f.layerTypes(), func(l int) bool { return noRope[l] })
	if !slices.Contains(c.NoRope, true) {
		c.NoRope = nil
	}
}

func readGemma2(f *fields, c *ModelConfig) {
	readAttentionBias(f, c)
	c.QueryPreAttnScalar = field(f, "query_pre_attn_scalar", 256.0)
	c.AttnLogitSoftcapping, c.FinalLogitSoftcapping = f.limit("attn_logit_softcapping", 50), f.limit("final_logit_softcapping", 30)
	window := f.window(4096)
	if size := field(f, "sliding_window_size", window); size != window { // some folders say it twice
		f.fail("sliding_window_size: %d contradicts sliding_window %d", size, window)
	}
	c.slide(f, window, f.layerTypes(), func(l int) bool { return l%2 == 0 })
}

// readGemma3: transformers reads attn_logit_softcapping and does not apply it, so it is refused.
func readGemma3(f *fields, c *ModelConfig) {
	readAttentionBias(f, c)
	c.QueryPreAttnScalar = field(f, "query_pre_attn_scalar", 256.0)
	c.FinalLogitSoftcapping = f.limit("final_logit_softcapping", 0)
	pattern := field(f, "sliding_window_pattern", 6)
	if pattern < 1 {
		f.fail("sliding_window_pattern: %d must be positive", pattern)
		return
	}
	c.slide(f, f.window(4096), f.layerTypes(), func(l int) bool { return (l+1)%pattern != 0 })
}

// readOlmo3: versions of transformers disagree about the base of sliding layers, except at this one.
func readOlmo3(f *fields, c *ModelConfig) {
	readAttentionBias(f, c)
	if c.RopeTheta != 5e5 || c.RopeLocalBaseFreq != 5e5 {
		f.fail("rope_theta: %v is not supported for %s (500000 is, for all layers)", c.RopeTheta, c.Architecture)
	}
	c.slide(f, f.window(4096), f.layerTypes(), func(l int) bool { return (l+1)%4 != 0 })
}

// readExaone4: where some layers slide, the others do not rotate.
func readExaone4(f *fields, c *ModelConfig) {
	window, types, pattern := f.window(4096), f.layerTypes(), 4
	if f.read["sliding_window_pattern"] = true; types == nil {
		pattern = field(f, "sliding_window_pattern", 4)
	}
	if pattern < 1 {
		f.fail("sliding_window_pattern: %d must be positive", pattern)
		return
	}
	c.slide(f, window, types, func(l int) bool { return (l+1)%pattern != 0 })
	if c.LayerTypes == nil && window > 0 {
		f.fail("sliding_window: %d is for none of the layers; transformers would rotate none", window)
	}
	for l := 0; c.LayerTypes != nil && l < len(c.LayerTypes); l++ {
		c.NoRope = append(c.NoRope, !c.slides(l))
	}
}

func readGranite(f *fields, c *ModelConfig) {
	readBiases(f, c)
	c.EmbeddingMultiplier, c.AttentionMultiplier = f.limit("embedding_multiplier", 1), f.limit("attention_multiplier", 1)
	c.ResidualMultiplier, c.LogitsScaling = f.limit("residual_multiplier", 1), f.limit("logits_scaling", 1)
}

// window reads sliding_window; null is none.
func (f *fields) window(absent int) int { return int(f.limit("sliding_window", float64(absent))) }

// limit reads a number whose null is none, 0, and not what absence means.
func (f *fields) limit(name string, absent float64) float64 {
	if f.values[name] != nil {
		absent = 0
	}
	v := field(f, name, absent)
	if v < 0 || f.present(name) && v == 0 || name == "sliding_window" && v != float64(int32(v)) {
		f.fail("%s: %v is not possible", name, v)
	}
	return v
}

func (f *fields) layerTypes() []string { return field[[]string](f, "layer_types", nil) }

// slide sets the window and the layers that have it: those of types, or where there is no list those that sliding says.
func (c *ModelConfig) slide(f *fields, window int, types []string, sliding func(layer int) bool) {
	for l := 0; types == nil && l < c.NumHiddenLayers; l++ {
		c.LayerTypes = append(c.LayerTypes, fullAttention)
		if window > 0 && sliding(l) {
			c.LayerTypes[l] = slidingAttention
		}
	}
	if types != nil {
		c.LayerTypes = types
	}
	c.SlidingWindow = window
	if err := c.validateLayers(); err != nil {
		f.fail("%w", err)
	}
	if !slices.Contains(c.LayerTypes, slidingAttention) {
		c.SlidingWindow, c.LayerTypes = 0, nil
	}
}

// slides reports whether layer l has the window.
func (c *ModelConfig) slides(l int) bool {
	return c.LayerTypes != nil && c.LayerTypes[l] == slidingAttention
}
