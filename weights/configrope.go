// Rotary embeddings in config.json: rope_theta with rope_scaling, or rope_parameters, which holds both since transformers 5
// and may hold them for each type of layer.

package weights

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"math"
)

// RopeScaling changes the rotary frequencies for long contexts, with the formulas of transformers.
type RopeScaling struct {
	Type     string  // "" none, or linear, dynamic, llama3, yarn, longrope
	Factor   float64 // all: how much longer
	Original int     // llama3, yarn, longrope: original_max_position_embeddings

	LowFreq, HighFreq float64 // llama3: low_freq_factor, high_freq_factor

	BetaFast, BetaSlow float64 // yarn
	Exact              bool    // yarn: truncate is false

	Short, Long []float64 // longrope: short_factor, long_factor

	Attention float64 // yarn, longrope: attention_factor; 0 follows from Factor
}

// ropeFile is one set of rotary parameters.
type ropeFile struct {
	RopeType  string    `json:"rope_type,omitzero"`
	Type      string    `json:"type,omitzero"` // the older spelling
	Theta     *float64  `json:"rope_theta,omitzero"`
	Partial   *float64  `json:"partial_rotary_factor,omitzero"`
	Factor    *decimal  `json:"factor,omitzero"`
	Original  *int      `json:"original_max_position_embeddings,omitzero"`
	LowFreq   decimal   `json:"low_freq_factor,omitzero"`
	HighFreq  decimal   `json:"high_freq_factor,omitzero"`
	BetaFast  decimal   `json:"beta_fast,omitzero"`
	BetaSlow  decimal   `json:"beta_slow,omitzero"`
	Truncate  *bool     `json:"truncate,omitzero"`
	Mscale    float64   `json:"mscale,omitzero"`
	MscaleAll float64   `json:"mscale_all_dim,omitzero"`
	Attention decimal   `json:"attention_factor,omitzero"`
	Short     []decimal `json:"short_factor,omitzero"`
	Long      []decimal `json:"long_factor,omitzero"`
}

// readRope reads all spellings.
func (f *fields) readRope(c *ModelConfig, family Family) {
	c.RopeTheta = field(f, "rope_theta", cmp.Or(family.theta, 10000))
	global := f.ropeSet("rope_scaling", f.values["rope_scaling"])
	parameters := f.values["rope_parameters"]
	f.read["rope_scaling"], f.read["rope_parameters"] = true, true
	if family.LocalRope {
		parameters = f.readLocalRope(c, parameters)
	}
	if f.present("rope_parameters") {
		if f.present("rope_scaling") {
			f.fail("rope_scaling: contradicts rope_parameters; keep one of them")
		}
		global = f.ropeSet("rope_parameters", parameters)
	}
	if global.Theta != nil {
		if f.present("rope_theta") && *global.Theta != c.RopeTheta {
			f.fail("rope_theta: contradicts rope_parameters.rope_theta")
		}
		c.RopeTheta = *global.Theta
	}
	f.readPartial(c, global.Partial, family)
	f.scale(c, global, family)
}

// readPartial reads the share of a head that rotates; of the architectures that are implemented, only Phi-3 honours it.
func (f *fields) readPartial(c *ModelConfig, parameter *float64, family Family) {
	partial := 1.0
	if family.Fused {
		partial = field(f, "partial_rotary_factor", 1.0)
	}
	if parameter != nil {
		partial = *parameter
	}
	switch {
	case partial == 1:
	case family.Fused:
		c.PartialRotaryFactor = partial
	default:
		f.fail("partial_rotary_factor: %v is not supported for %s", partial, c.Architecture)
	}
}

// readLocalRope reads the base of sliding layers and returns the parameters of the others.
func (f *fields) readLocalRope(c *ModelConfig, parameters jsontext.Value) jsontext.Value {
	c.RopeLocalBaseFreq = c.RopeTheta
	if c.Architecture == Gemma3 {
		c.RopeLocalBaseFreq = field(f, "rope_local_base_freq", 10000.0)
	}
	if !f.present("rope_parameters") {
		return nil
	}
	var nested struct {
		Full    jsontext.Value `json:"full_attention"`
		Sliding jsontext.Value `json:"sliding_attention"`
	}
	if err := json.Unmarshal(parameters, &nested, json.RejectUnknownMembers(true)); err != nil {
		f.fail("rope_parameters: %w", shorten(err))
		return nil
	}
	local := f.ropeSet("rope_parameters.sliding_attention", nested.Sliding)
	if t := cmp.Or(local.RopeType, local.Type, "default"); t != "default" {
		f.fail("rope_parameters.sliding_attention.rope_type: %q is not supported (default is)", t)
	}
	if local.Theta != nil {
		c.RopeLocalBaseFreq = *local.Theta
	}
	return nested.Full
}

// ropeSet decodes one set, null included.
func (f *fields) ropeSet(name string, value jsontext.Value) (r ropeFile) {
	if len(value) == 0 || value.Kind() == 'n' {
		return r
	}
	if err := json.Unmarshal(value, &r, json.RejectUnknownMembers(true)); err != nil {
		f.fail("%s: %w", name, shorten(err))
	}
	if r.RopeType != "" && r.Type != "" && r.RopeType != r.Type {
		f.fail("%s: rope_type %q contradicts type %q", name, r.RopeType, r.Type)
	}
	return r
}

// scale fills in c.RopeScaling.
func (f *fields) scale(c *ModelConfig, r ropeFile, family Family) {
	kind := cmp.Or(r.RopeType, r.Type, "default")
	if kind == "su" || kind == "yarn" && family.Fused {
		kind = "longrope" // Phi-3's first names for it
	}
	original := c.MaxPositionEmbeddings
	if r.Original != nil {
		original = *r.Original
	}
	if family.Fused {
		original = field(f, "original_max_position_embeddings", 4096) // Phi-3 keeps it outside, and it counts
	}
	s := RopeScaling{Type: kind}
	switch kind {
	case "default":
		return
	case "linear", "dynamic":
	case "llama3":
		s.Original, s.LowFreq, s.HighFreq = original, float64(r.LowFreq), float64(r.HighFreq)
	case "yarn":
		s.Original, s.BetaFast, s.BetaSlow = original, float64(cmp.Or(r.BetaFast, 32)), float64(cmp.Or(r.BetaSlow, 1))
		s.Exact = r.Truncate != nil && !*r.Truncate
	case "longrope":
		s.Original, s.Short, s.Long = original, convertAll[float64](r.Short), convertAll[float64](r.Long)
	default:
		f.fail("rope_scaling: %q is not supported (linear, dynamic, llama3, yarn and longrope are)", kind)
		return
	}
	s.Factor = float64(c.MaxPositionEmbeddings) / float64(max(1, original))
	if r.Factor != nil {
		s.Factor = float64(*r.Factor)
	} else if kind == "linear" || kind == "dynamic" || kind == "llama3" {
		f.fail("rope_scaling: factor is missing")
	}
	if kind == "yarn" || kind == "longrope" {
		s.Attention = attention(r, s.Factor)
	}
	c.RopeScaling = s
}

// attention is the factor on cosines and sines where the file decides it, else 0.
func attention(r ropeFile, factor float64) float64 {
	if r.Attention != 0 || r.Mscale == 0 || r.MscaleAll == 0 || factor <= 1 {
		return float64(r.Attention)
	}
	of := func(mscale float64) float64 { return 0.1*mscale*math.Log(factor) + 1 }
	return of(r.Mscale) / of(r.MscaleAll)
}

func convertAll[To, From ~float64](from []From) []To {
	var to []To
	for _, v := range from {
		to = append(to, To(v))
	}
	return to
}

// marshal is rope_scaling, nil for none.
func (s RopeScaling) marshal() *ropeFile {
	if s.Type == "" {
		return nil
	}
	factor := decimal(s.Factor)
	r := &ropeFile{RopeType: s.Type, Factor: &factor, LowFreq: decimal(s.LowFreq), HighFreq: decimal(s.HighFreq),
		BetaFast: decimal(s.BetaFast), BetaSlow: decimal(s.BetaSlow), Attention: decimal(s.Attention),
		Short: convertAll[decimal](s.Short), Long: convertAll[decimal](s.Long)}
	if s.Original != 0 {
		r.Original = &s.Original
	}
	if s.Exact {
		r.Truncate = new(bool)
	}
	return r
}

func (s RopeScaling) validate(frequencies int) error {
	positive := func(v float64) bool { return v > 0 && v <= 1e6 }
	switch {
	case s.Type == "":
		return nil
	case !(s.Factor >= 1 && s.Factor <= 1e6):
		return fmt.Errorf("rope_scaling: factor: %v must be between 1 and 1e6", s.Factor)
	case s.Type != "linear" && s.Type != "dynamic" && (s.Original < 2 || s.Original > 1<<30):
		return fmt.Errorf("rope_scaling: original_max_position_embeddings: %d must be between 2 and 2^30", s.Original)
	case s.Type == "llama3" && !(positive(s.LowFreq) && positive(s.HighFreq) && s.HighFreq > s.LowFreq):
		return fmt.Errorf("rope_scaling: low_freq_factor %v and high_freq_factor %v must be above 0 and ascend", s.LowFreq, s.HighFreq)
	case s.Type == "yarn" && !(positive(s.BetaSlow) && positive(s.BetaFast) && s.BetaFast >= s.BetaSlow):
		return fmt.Errorf("rope_scaling: beta_slow %v and beta_fast %v must be above 0 and not descend", s.BetaSlow, s.BetaFast)
	case !(s.Attention >= 0 && s.Attention <= 1e3):
		return fmt.Errorf("rope_scaling: attention_factor: %v must be between 0 and 1000", s.Attention)
	case s.Type != "longrope":
		return nil
	}
	for name, list := range map[string][]float64{"short_factor": s.Short, "long_factor": s.Long} {
		if len(list) != frequencies {
			return fmt.Errorf("rope_scaling: %s: has %d numbers; a head has %d frequencies", name, len(list), frequencies)
		}
		for _, v := range list {
			if !positive(v) {
				return fmt.Errorf("rope_scaling: %s: %v must be above 0 and at most 1e6", name, v)
			}
		}
	}
	return nil
}
