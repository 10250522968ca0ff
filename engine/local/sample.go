package local

import (
	"math"
	"math/bits"
	"slices"

	"molt/engine"
	"molt/numeric/kernel"
	"molt/numeric/model"
)

// sampler chooses ids from logits. It is one worker's memory, reused from token to token.
type sampler struct {
	p    []float32 // [V] probabilities
	heap []int32   // ids, the likeliest on top
	kept []int32

	shaped []float32 // [V] logits as a request wants them
	mask   []uint64  // of ids that may come, [V/64]
	ids    []int32   // the same, ascending
	among  []float32 // their logits
}

// choice is one sampled id. A logp that is not finite says that the logits were not.
type choice struct {
	id   int32
	logp float32
	top  []engine.Ranked
}

// diverged is the choice among logits that are not finite.
var diverged = choice{logp: float32(math.NaN())}

func notFinite(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }

// sample chooses an id from a row of logits [V], which it divides by the temperature in place. The log-prob is that of the
// whole distribution, whatever the filters keep, with the bits that the learner computes. position counts the sampled
// tokens of the request.
func (s *sampler) sample(logits []float32, o *engine.Sampling, key engine.Key, position int) choice {
	if o.Temperature > 0 {
		model.Temper(logits, o.Temperature)
	}
	lse := model.LogSumExp(logits)
	if notFinite(lse) {
		return diverged
	}
	id := s.choose(logits, lse, o, key, position)
	return choice{id: id, logp: logits[id] - lse, top: s.ranked(logits, lse, o.Top)}
}

// choose takes an id by its logit. lse is that of the logits.
func (s *sampler) choose(logits []float32, lse float32, o *engine.Sampling, key engine.Key, position int) int32 {
	if o.Temperature == 0 {
		return likeliest(logits)
	}
	return s.draw(logits, lse, o, uniform(key, position))
}

// nextID is the id of the lowest bit of word i of a mask.
func nextID(i int, word uint64) int32 { return int32(64*i + bits.TrailingZeros64(word)) }

// likeliest is the lowest among the ids with the largest logit.
func likeliest(logits []float32) int32 {
	best := 0
	for i, z := range logits {
		if z > logits[best] {
			best = i
		}
	}
	return int32(best)
}

// draw inverts the cumulative distribution of the kept ids at u of [0, 1). Probabilities add up in float64 in order of id.
func (s *sampler) draw(logits []float32, lse float32, o *engine.Sampling, u float64) int32 {
	s.p = slices.Grow(s.p[:0], len(logits))[:len(logits)]
	for i, z := range logits {
		s.p[i] = z - lse
	}
	kernel.Exp(s.p, s.p)
	var total float64
	for _, p := range s.p {
		total += float64(p)
	}
	if o.TopK == 0 && (o.TopP == 0 || o.TopP == 1) && o.MinP == 0 {
		return s.invert(u * total)
	}
	return s.invertKept(o, total, u)
}

// invert finds the id at which the cumulative distribution exceeds target.
func (s *sampler) invert(target float64) int32 {
	last, sum := 0, 0.0
	for i, p := range s.p {
		if p == 0 {
			continue
		}
		if sum += float64(p); sum > target {
			return int32(i)
		}
		last = i
	}
	return int32(last) // rounding: the sums stop just short of target
}

// invertKept does the same among the ids that every filter keeps. Each filter is over the whole distribution and keeps a
// beginning of the ids in order of probability, so the shortest beginning decides.
func (s *sampler) invertKept(o *engine.Sampling, total, u float64) int32 {
	s.order()
	least := o.MinP * s.p[s.heap[0]]
	s.kept = s.kept[:0]
	mass := 0.0
	for len(s.heap) > 0 {
		id := s.heap[0]
		if len(s.kept) > 0 && s.p[id] < least {
			break
		}
		s.kept = append(s.kept, id)
		mass += float64(s.p[id])
		if len(s.kept) == o.TopK || o.TopP > 0 && o.TopP < 1 && mass >= float64(o.TopP)*total {
			break
		}
		s.pop()
	}
	slices.Sort(s.kept)
	mass = 0
	for _, id := range s.kept {
		mass += float64(s.p[id])
	}
	target, sum := u*mass, 0.0
	for _, id := range s.kept {
		if sum += float64(s.p[id]); sum > target {
			return id
		}
	}
	return s.kept[len(s.kept)-1]
}

// order makes a heap of all ids.
func (s *sampler) order() {
	s.heap = slices.Grow(s.heap[:0], len(s.p))[:len(s.p)]
	for i := range s.heap {
		s.heap[i] = int32(i)
	}
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.sink(i)
	}
}

// pop takes the likeliest id away.
func (s *sampler) pop() {
	last := len(s.heap) - 1
	s.heap[0] = s.heap[last]
	s.heap = s.heap[:last]
	s.sink(0)
}

func (s *sampler) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(s.heap) {
			return
		}
		if child+1 < len(s.heap) && s.before(s.heap[child+1], s.heap[child]) {
			child++
		}
		if !s.before(s.heap[child], s.heap[i]) {
			return
		}
		s.heap[i], s.heap[child] = s.heap[child], s.heap[i]
		i = child
	}
}

// before orders ids by probability, the lowest first among equals.
func (s *sampler) before(a, b int32) bool {
	return s.p[a] > s.p[b] || s.p[a] == s.p[b] && a < b
}

// uniform is the draw for a sampled token: a function of the request's key and the token's position, so that nothing else
// can change a rollout. It absorbs one word after the other with SplitMix64's finaliser (Steele, Lea and Flood 2014), a
// bijection, so keys that differ in one word of those below never meet.
func uniform(k engine.Key, position int) float64 {
	x := mix(k.Seed)
	x = mix(x ^ uint64(k.Group))
	x = mix(x ^ (uint64(uint32(k.Sample))<<32 | uint64(uint32(k.Turn))))
	x = mix(x ^ uint64(position))
	return float64(x>>11) * 0x1p-53
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
