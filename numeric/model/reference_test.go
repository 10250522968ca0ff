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
		for l := range r.c.Layers {
			in := func(name string) string { return "model.layers." + string(rune('0'+l)) + "." + name }
			h := r.norm(x, r.w[in("input_layernorm.weight")])
			q := r.linear(h, in("self_attn.q_proj"), r.c.QKVBias)
			k := r.linear(h, in("self_attn.k_proj"), r.c.QKVBias)
			v := r.linear(h, in("self_attn.v_proj"), r.c.QKVBias)
			q, k = r.heads(q, r.w[in("self_attn.q_norm.weight")], t), r.heads(k, r.w[in("self_attn.k_norm.weight")], t)
			keys[l], values[l] = append(keys[l], k), append(values[l], v)
			y := r.linear(r.attend(q, keys[l], values[l]), in("self_attn.o_proj"), r.c.OBias)
			addTo(x, y)
			h = r.norm(x, r.w[in("post_attention_layernorm.weight")])
			gate, up := r.linear(h, in("mlp.gate_proj"), false), r.linear(h, in("mlp.up_proj"), false)
			for i, g := range gate {
				up[i] *= g / (1 + math.Exp(-g))
			}
			addTo(x, r.linear(up, in("mlp.down_proj"), false))
		}
		h := r.norm(x, r.w["model.norm.weight"])
		head := "lm_head"
		if r.c.Tied {
			head = "model.embed_tokens"
		}
		logits := r.linear(h, head, false)
		for i := range logits {
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

func (r *reference) norm(x, w []float64) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	s := 1 / math.Sqrt(sum/float64(len(x))+float64(r.c.NormEps))
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * s * w[i]
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
func (r *reference) heads(x, norm []float64, t int) []float64 {
	hd := r.c.HeadDim
	var out []float64
	for h := 0; h < len(x); h += hd {
		y := append([]float64(nil), x[h:h+hd]...)
		if r.c.QKNorm {
			y = r.norm(y, norm)
		}
		z := make([]float64, hd)
		for i := range hd / 2 {
			angle := float64(t) * math.Pow(r.c.RopeTheta, -float64(2*i)/float64(hd))
			sin, cos := math.Sincos(angle)
			z[i] = y[i]*cos - y[i+hd/2]*sin
			z[i+hd/2] = y[i+hd/2]*cos + y[i]*sin
		}
		out = append(out, z...)
	}
	return out
}

func (r *reference) attend(q []float64, keys, values [][]float64) []float64 {
	hd := r.c.HeadDim
	y := make([]float64, len(q))
	for h := range r.c.Heads {
		g := h / (r.c.Heads / r.c.KVHeads) * hd
		scores := make([]float64, len(keys))
		for j, k := range keys {
			for i := range hd {
				scores[j] += q[h*hd+i] * k[g+i] / math.Sqrt(float64(hd))
			}
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
