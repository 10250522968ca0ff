// Logits as a request wants them changed before an id is drawn. The log-prob that is reported stays that of the logits as
// the model gave them.

package local

import (
	"cmp"
	"slices"

	"molt/engine"
	"molt/numeric/model"
)

// history counts the ids of a request, for penalties. The zero history counts nothing.
type history struct {
	ids   []int32 // distinct, in order of their first place
	times []int   // that the reply has each of them
	at    map[int32]int
}

// add notes an id. said says that it belongs to the reply.
func (h *history) add(id int32, said int) {
	if h.at == nil {
		h.at = map[int32]int{}
	}
	i, ok := h.at[id]
	if !ok {
		i = len(h.ids)
		h.at[id] = i
		h.ids, h.times = append(h.ids, id), append(h.times, 0)
	}
	h.times[i] += said
}

// newHistory counts a prompt, whose last ids were said earlier.
func newHistory(prompt []int32, earlier int) *history {
	h := &history{}
	for i, id := range prompt {
		said := 0
		if i >= len(prompt)-earlier {
			said = 1
		}
		h.add(id, said)
	}
	return h
}

// shape writes the logits that ids are drawn by, before the temperature, into memory of the sampler.
func (s *sampler) shape(logits []float32, o *engine.Sampling, h *history) []float32 {
	s.shaped = append(s.shaped[:0], logits...)
	for _, b := range o.Bias {
		s.shaped[b.ID] += b.Value
	}
	if !o.Penalizes() {
		return s.shaped
	}
	repetition := cmp.Or(o.RepetitionPenalty, 1)
	for i, id := range h.ids {
		z := s.shaped[id]
		if z > 0 {
			z /= repetition
		} else {
			z *= repetition
		}
		if n := h.times[i]; n > 0 {
			z -= float32(n)*o.FrequencyPenalty + o.PresencePenalty
		}
		s.shaped[id] = z
	}
	return s.shaped
}

// terms are what an id is drawn under.
type terms struct {
	sampling   *engine.Sampling
	key        engine.Key
	position   int // sampled tokens of the request
	earlier    int // tokens of the reply before the request
	constraint engine.Constraint
	history    *history
}

// free reports whether an id is drawn from the model's own distribution.
func (t *terms) free() bool {
	return t.constraint == nil && len(t.sampling.Bias) == 0 && !t.sampling.Penalizes() && !t.early()
}

// early reports whether the reply is too short to end.
func (t *terms) early() bool { return t.earlier+t.position < t.sampling.MinTokens }

// sampleUnder does what sample does under terms: the filters and the draw are over what the distribution is given that one
// of the allowed ids comes, by the logits as the request wants them. An id of -1 says that none is allowed.
func (s *sampler) sampleUnder(logits []float32, t *terms) choice {
	o := t.sampling
	drawn := logits
	if len(o.Bias) > 0 || o.Penalizes() {
		drawn = s.shape(logits, o, t.history)
		if o.Temperature > 0 {
			model.Temper(drawn, o.Temperature)
		}
	}
	if o.Temperature > 0 {
		model.Temper(logits, o.Temperature)
	}
	s.allow(drawn, t)
	if len(s.ids) == 0 {
		return choice{id: -1}
	}
	whole, lse := model.LogSumExp(logits), model.LogSumExp(s.among)
	if notFinite(whole) || notFinite(lse) {
		return diverged
	}
	id := s.ids[s.choose(s.among, lse, o, t.key, t.position)]
	return choice{id: id, logp: logits[id] - whole, top: s.ranked(logits, whole, o.Top)}
}

// allow lists the ids that may come next, and the logits that they are drawn by.
func (s *sampler) allow(logits []float32, t *terms) {
	words := engine.MaskWords(len(logits))
	s.mask = slices.Grow(s.mask[:0], words)[:words]
	if t.constraint != nil {
		t.constraint.Allowed(s.mask)
	} else {
		for i := range s.mask {
			s.mask[i] = ^uint64(0)
		}
	}
	s.list(logits, nil)
	if !t.early() {
		return
	}
	all := len(s.ids)
	s.list(logits, t.sampling.StopTokens)
	if all > 0 && len(s.ids) == 0 {
		s.list(logits, nil)
	}
}

// list reads the mask, but for some ids.
func (s *sampler) list(logits []float32, but []int32) {
	s.ids, s.among = s.ids[:0], s.among[:0]
	for i, word := range s.mask {
		for ; word != 0; word &= word - 1 {
			if id := nextID(i, word); int(id) < len(logits) && !slices.Contains(but, id) {
				s.ids, s.among = append(s.ids, id), append(s.among, logits[id])
			}
		}
	}
}

// ranked lists the n likeliest ids. lse is that of the logits.
func (s *sampler) ranked(logits []float32, lse float32, n int) []engine.Ranked {
	if n == 0 {
		return nil
	}
	top := make([]engine.Ranked, 0, n+1)
	for i, z := range logits {
		if len(top) == n && z <= top[n-1].Logp {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, z, func(r engine.Ranked, z float32) int {
			if r.Logp >= z {
				return -1
			}
			return 1
		})
		top = slices.Insert(top, at, engine.Ranked{ID: int32(i), Logp: z})
		top = top[:min(len(top), n)]
	}
	for i := range top {
		top[i].Logp -= lse
	}
	return top
}
