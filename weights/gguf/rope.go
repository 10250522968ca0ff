// Rotary scaling: GGUF stores kinds and factors under its own keys, and Llama 3's as finished numbers.

package gguf

import (
	"fmt"
	"math"
	"slices"
)

// ropeScaling reads what the keys say. Llama 3's scaling is not among them: it is stored as a tensor.
func (s *source) ropeScaling() error {
	kind := s.meta.text(s.key("rope.scaling.type"))
	factor := s.meta.number(s.key("rope.scaling.factor"), s.meta.number(s.key("rope.scale_linear"), 1))
	original := s.meta.integer(s.key("rope.scaling.original_context_length"), 0)
	s.meta.flag(s.key("rope.scaling.finetuned"), false) // says how the model came about, not how it computes
	if kind == "" && factor != 1 {
		kind = "linear"
	}
	switch kind {
	case "", "none":
		return nil
	case "linear":
		if factor != 1 {
			s.config["rope_scaling"] = map[string]any{"rope_type": "linear", "factor": factor}
		}
		return nil
	case "yarn":
		return s.yarn(factor, original)
	case "longrope":
		return nil // longRope reads the factors
	}
	return fmt.Errorf("%s: %q is not supported", s.key("rope.scaling.type"), kind)
}

func (s *source) yarn(factor float64, original int64) error {
	scaling := map[string]any{"rope_type": "yarn", "factor": factor}
	if original > 0 {
		scaling["original_max_position_embeddings"] = original
	}
	for key, field := range map[string]string{"yarn_beta_fast": "beta_fast", "yarn_beta_slow": "beta_slow", "attn_factor": "attention_factor"} {
		if key = s.key("rope.scaling." + key); s.meta.has(key) {
			scaling[field] = s.meta.number(key, 0)
		}
	}
	s.config["rope_scaling"] = scaling
	return nil
}

// llamaRope recovers Llama 3's rope_scaling from rope_freqs.weight, the numbers by which each frequency is divided. Only
// the factor varies among the models that were released; the other three are checked by computing the tensor again.
func (s *source) llamaRope() error {
	const name = "rope_freqs.weight"
	if !s.has(name) {
		return nil
	}
	stored, err := s.file.Tensor(name)
	if err != nil {
		return err
	}
	s.used[name] = true
	if len(stored.Data) == 0 {
		return fmt.Errorf("tensor %q %w", name, errEmpty)
	}
	factor := float64(slices.Max(stored.Data))
	if factor == 1 {
		return nil
	}
	const low, high, original = 1.0, 4.0, 8192.0
	theta := s.config["rope_theta"].(float64)
	for i, got := range stored.Data {
		wavelength := 2 * math.Pi * math.Pow(theta, float64(2*i)/float64(2*len(stored.Data)))
		want := 1.0
		switch {
		case wavelength > original/low:
			want = factor
		case wavelength > original/high:
			smooth := (original/wavelength - low) / (high - low)
			want = 1 / ((1-smooth)/factor + smooth)
		}
		if math.Abs(float64(got)-want) > 1e-4*want {
			return fmt.Errorf("tensor %q: value %d is %v; only the rotary scaling of Llama 3 is supported, which has %v there", name, i, got, want)
		}
	}
	s.config["rope_scaling"] = map[string]any{"rope_type": "llama3", "factor": factor, "low_freq_factor": low,
		"high_freq_factor": high, "original_max_position_embeddings": int(original)}
	return nil
}

// longRope reads Phi-3's two lists of factors.
func (s *source) longRope() error {
	const long, short = "rope_factors_long.weight", "rope_factors_short.weight"
	original := s.meta.integer(s.key("rope.scaling.original_context_length"), 0)
	if !s.has(long) && !s.has(short) {
		if original > 0 {
			s.config["original_max_position_embeddings"] = original
		}
		return nil
	}
	if original < 2 {
		return fmt.Errorf("%s: %d is not possible", s.key("rope.scaling.original_context_length"), original)
	}
	// transformers computes the scale of the scores from the two lengths, so the stored one must be the same.
	scale := max(1, float64(s.count("context_length", 0))/float64(original))
	want := math.Sqrt(1 + math.Log(scale)/math.Log(float64(original)))
	if got := s.meta.number(s.key("rope.scaling.attn_factor"), want); math.Abs(got-want) > 1e-4*want {
		return fmt.Errorf("%s: %v is not supported (%v follows from the lengths)", s.key("rope.scaling.attn_factor"), got, want)
	}
	s.config["original_max_position_embeddings"] = original
	scaling := map[string]any{"type": "longrope"}
	for name, field := range map[string]string{long: "long_factor", short: "short_factor"} {
		t, err := s.file.Tensor(name)
		if err != nil {
			return err
		}
		s.used[name] = true
		factors := make([]float64, len(t.Data))
		for i, v := range t.Data {
			factors[i] = shortest(float64(v))
		}
		scaling[field] = factors
	}
	s.config["rope_scaling"] = scaling
	return nil
}
