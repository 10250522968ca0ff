package model

import "math"

// reference is the decoder once more, as plainly as possible, in float64: one token at a time, no packing, no cache layout,
// no fused matrices.
type reference struct {
	c Config
	w map[string][]float64
}

func newReference(m *Model) *reference {
	r := &reference{c: m.Config(), w: map[string][]float64{}}
	for _, p := range m.Params() {
		for _, x := range p.Data {
			r.w[p.Name] = append(r.w[p.Name], float64(x))
		}
	}
	return r
}

// lanes are the scores of a sequence's tokens 1..n-1 given their prefixes.
type lanes struct{ logp, entropy, value []float64 }

func (r *reference) run(ids []int32, temperature func(t int) float64) lanes {
	var out lanes
	var keys, values [][][]float64 // [layer][position][G hd]
	keys, values = make([][][]float64, r.c.Layers), make([][][]float64, r.c.Layers)
	for t := range len(ids) - 1 {
		x := append([]float64(nil), r.w["model.embed_tokens.weight"][int(ids[t])*r.c.Dim:][:r.c.Dim]...)
		scaleBy(x, float64(r.c.EmbedScale))
		for l := range r.c.Layers {
			in := func(name string) string { return "model.layers." + string(rune('0'+l)) + "." + name }
			pre1, post1, pre2, post2 := "input", "", "post_attention", ""
			switch r.c.Norms {
			case PostNorm:
				pre1, post1, pre2, post2 = "", "post_attention", "", "post_feedforward"
			case Sandwich:
				post1, pre2, post2 = "post_attention", "pre_feedforward", "post_feedforward"
			}
			h := r.layerNorm(x, in(pre1))
			var q, k, v []float64
			if r.c.Fused {
				both := r.linear(h, in("self_attn.qkv_proj"), false)
				q, k, v = both[:r.c.qDim()], both[r.c.qDim():][:r.c.kvDim()], both[r.c.qDim()+r.c.kvDim():]
			} else {
				q = r.linear(h, in("self_attn.q_proj"), r.c.QKVBias)
				k = r.linear(h, in("self_attn.k_proj"), r.c.QKVBias)
				v = r.linear(h, in("self_attn.v_proj"), r.c.QKVBias)
			}
			q, k = r.heads(q, r.w[in("self_attn.q_norm.weight")], t, l), r.heads(k, r.w[in("self_attn.k_norm.weight")], t, l)
			keys[l], values[l] = append(keys[l], k), append(values[l], v)
			r.join(x, r.linear(r.attend(q, keys[l], values[l], r.c.kind(l).Window), in("self_attn.o_proj"), r.c.OBias), in(post1))
			h = r.layerNorm(x, in(pre2))
			var gate, up []float64
			if r.c.Fused {
				both := r.linear(h, in("mlp.gate_up_proj"), false)
				gate, up = both[:r.c.FFN], both[r.c.FFN:]
			} else {
				gate, up = r.linear(h, in("mlp.gate_proj"), r.c.MLPBias), r.linear(h, in("mlp.up_proj"), r.c.MLPBias)
			}
			for i, g := range gate {
				if r.c.GELU {
					up[i] *= g / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(g+0.044715*g*g*g)))
				} else {
					up[i] *= g / (1 + math.Exp(-g))
				}
			}
			r.join(x, r.linear(up, in("mlp.down_proj"), r.c.MLPBias), in(post2))
		}
		h := r.norm(x, r.w["model.norm.weight"])
		head := "lm_head"
		if r.c.Tied {
			head = "model.embed_tokens"
		}
		logits := r.linear(h, head, false)
		scaleBy(logits, float64(r.c.LogitScale))
		for i := range logits {
			logits[i] = capped(logits[i], r.c.LogitCap)
			logits[i] /= temperature(t + 1)
		}
		lse := logSumExp(logits)
		entropy := 0.0
		for _, z := range logits {
			entropy -= math.Exp(z-lse) * (z - lse)
		}
		out.logp = append(out.logp, logits[ids[t+1]]-lse)
		out.entropy = append(out.entropy, entropy)
		if r.c.ValueHead {
			out.value = append(out.value, r.linear(h, "score", false)[0])
		}
	}
	return out
}

// layerNorm is the norm of that name without "_layernorm.weight"; one that a model lacks changes nothing.
func (r *reference) layerNorm(x []float64, name string) []float64 {
	if w := r.w[name+"_layernorm.weight"]; w != nil {
		return r.norm(x, w)
	}
	return x
}

// join adds a branch to the stream x.
func (r *reference) join(x, y []float64, post string) {
	y = append([]float64(nil), r.layerNorm(y, post)...)
	scaleBy(y, float64(r.c.ResidualScale))
	addTo(x, y)
}

// scaleBy multiplies by a factor of a Config, where 0 is none.
func scaleBy(x []float64, factor float64) {
	for i := range x {
		if factor != 0 {
			x[i] *= factor
		}
	}
}

// capped keeps x within a limit of a Config, where 0 is none.
func capped(x float64, limit float32) float64 {
	if limit == 0 {
		return x
	}
	return float64(limit) * math.Tanh(x/float64(limit))
}

func (r *reference) norm(x, w []float64) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	s := 1 / math.Sqrt(sum/float64(len(x))+float64(r.c.NormEps))
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * s * w[i]
		if r.c.NormPlusOne {
			y[i] = v * s * (1 + w[i])
		}
	}
	return y
}

func (r *reference) linear(x []float64, name string, bias bool) []float64 {
	w := r.w[name+".weight"]
	y := make([]float64, len(w)/len(x))
	if bias {
		copy(y, r.w[name+".bias"])
	}
	for i := range y {
		sum, row := y[i], w[i*len(x):][:len(x)]
		for j, v := range x {
			sum += row[j] * v
		}
		y[i] = sum
	}
	return y
}

// heads norms, if the model does, and rotates each head of x at position t.
func (r *reference) heads(x, norm []float64, t, l int) []float64 {
	hd := r.c.HeadDim
	if r.c.QKNormWide {
		x = r.norm(x, norm)
	}
	var out []float64
	for h := 0; h < len(x); h += hd {
		y := append([]float64(nil), x[h:h+hd]...)
		if r.c.QKNorm {
			y = r.norm(y, norm)
		}
		z := append([]float64(nil), y...)
		half := r.c.rotary() / 2
		for i := range half {
			angle, factor := r.angle(t, l, i, half)
			sin, cos := math.Sincos(angle)
			z[i] = (y[i]*cos - y[i+half]*sin) * factor
			z[i+half] = (y[i+half]*cos + y[i]*sin) * factor
		}
		out = append(out, z...)
	}
	return out
}

// angle is the i-th of layer l at position t, and the factor on its cosine and sine.
func (r *reference) angle(t, l, i, half int) (angle, factor float64) {
	kind, s := r.c.kind(l), r.c.Scaling
	if kind.NoRope {
		return 0, 1
	}
	if kind.LocalRope {
		return float64(t) * math.Pow(r.c.LocalTheta, -float64(i)/float64(half)), 1
	}
	f := math.Pow(r.c.RopeTheta, -float64(i)/float64(half))
	factor = 1
	switch s.Type {
	case "longrope":
		f /= s.Short[i]
		factor = math.Sqrt(1 + math.Log(s.Factor)/math.Log(float64(s.Original)))
	case "llama3":
		wavelength := 2 * math.Pi / f
		long, short := float64(s.Original)/s.LowFreq, float64(s.Original)/s.HighFreq
		smooth := (float64(s.Original)/wavelength - s.LowFreq) / (s.HighFreq - s.LowFreq)
		if wavelength > long {
			f /= s.Factor
		} else if wavelength >= short {
			f *= (1-smooth)/s.Factor + smooth
		}
	case "yarn":
		dim := func(turns float64) float64 {
			return float64(half) * math.Log(float64(s.Original)/(turns*2*math.Pi)) / math.Log(r.c.RopeTheta)
		}
		low, high := max(0, math.Floor(dim(s.BetaFast))), math.Ceil(dim(s.BetaSlow))
		ramp := min(1, max(0, (float64(i)-low)/(high-low)))
		f = f/s.Factor*ramp + f*(1-ramp)
		factor = 0.1*math.Log(s.Factor) + 1
	}
	return float64(t) * f, factor
}

func (r *reference) attend(q []float64, keys, values [][]float64, window int) []float64 {
	hd := r.c.HeadDim
	if window > 0 && len(keys) > window {
		keys, values = keys[len(keys)-window:], values[len(values)-window:]
	}
	scale := 1 / math.Sqrt(float64(hd))
	if r.c.AttentionScale != 0 {
		scale = float64(r.c.AttentionScale)
	}
	y := make([]float64, len(q))
	for h := range r.c.Heads {
		g := h / (r.c.Heads / r.c.KVHeads) * hd
		scores := make([]float64, len(keys))
		for j, k := range keys {
			for i := range hd {
				scores[j] += q[h*hd+i] * k[g+i] * scale
			}
			scores[j] = capped(scores[j], r.c.AttentionCap)
		}
		lse := logSumExp(scores)
		for j, v := range values {
			for i := range hd {
				y[h*hd+i] += math.Exp(scores[j]-lse) * v[g+i]
			}
		}
	}
	return y
}

func logSumExp(x []float64) float64 {
	top := math.Inf(-1)
	for _, v := range x {
		top = max(top, v)
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}

func addTo(x, y []float64) {
	for i, v := range y {
		x[i] += v
	}
}
