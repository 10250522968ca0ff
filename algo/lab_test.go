package algo

import (
	"math"
	"math/rand/v2"
)

// The laboratory of claims_test.go: policies small enough that reward, entropy and KL are exact numbers, not estimates.

// policy holds the logits of a softmax over V actions in each of some states.
type policy [][]float64

func newPolicy(states, actions int) policy {
	p := make(policy, states)
	for s := range p {
		p[s] = make([]float64, actions)
	}
	return p
}

func (p policy) clone() policy {
	q := newPolicy(len(p), len(p[0]))
	for s := range p {
		copy(q[s], p[s])
	}
	return q
}

func (p policy) sample(state int, r *rand.Rand) (action int) {
	u := r.Float64()
	logp := logSoftmax(p[state])
	for action = range logp {
		if u -= math.Exp(logp[action]); u < 0 {
			break
		}
	}
	return action
}

// mean is the expectation of value over the actions of a state.
func (p policy) mean(state int, value func(action int) float64) (sum float64) {
	for a, l := range logSoftmax(p[state]) {
		sum += math.Exp(l) * value(a)
	}
	return sum
}

func (p policy) entropy(state int) float64 {
	logp := logSoftmax(p[state])
	return p.mean(state, func(a int) float64 { return -logp[a] })
}

// kl is KL(p‖q) in a state.
func (p policy) kl(q policy, state int) float64 {
	logp, logq := logSoftmax(p[state]), logSoftmax(q[state])
	return p.mean(state, func(a int) float64 { return logp[a] - logq[a] })
}

// sampled is one action token: what was done where.
type sampled struct{ state, action int }

// logps gives the log-prob of each token.
func (p policy) logps(tokens []sampled) []float32 {
	cache := make([][]float64, len(p))
	out := make([]float32, len(tokens))
	for i, t := range tokens {
		if cache[t.state] == nil {
			cache[t.state] = logSoftmax(p[t.state])
		}
		out[i] = float32(cache[t.state][t.action])
	}
	return out
}

// descend continues the chain rule from dL/dlogp to the logits, and takes a step against the gradient.
func (p policy) descend(tokens []sampled, dLogp []float32, lr float64) {
	gradient := newPolicy(len(p), len(p[0]))
	for i, t := range tokens {
		if dLogp[i] == 0 {
			continue
		}
		for j, l := range logSoftmax(p[t.state]) {
			gradient[t.state][j] -= float64(dLogp[i]) * math.Exp(l)
		}
		gradient[t.state][t.action] += float64(dLogp[i])
	}
	for s := range p {
		for j := range p[s] {
			p[s][j] -= lr * gradient[s][j]
		}
	}
}

// episode is one rollout of the laboratory.
type episode struct {
	group  int64
	reward float64
	tokens []sampled
}

// layOut gives the tokens of a batch, all of them actions, with what every lane says about them: by learner at the start of
// the step, and by the generator.
func layOut(episodes []episode, cfg AdvantageConfig, learner, generator policy) ([]sampled, Tokens) {
	b, in := Batch{}, Tokens{Starts: []int32{0}}
	var tokens []sampled
	var advantage [][]float32
	cfg.Gamma, cfg.Lambda = 1, 1
	for r, e := range episodes {
		action := make([]bool, len(e.tokens))
		for i := range action {
			action[i] = true
		}
		b.Reward, b.Group, b.Rollout = append(b.Reward, e.reward), append(b.Group, e.group), append(b.Rollout, r)
		b.Action, advantage = append(b.Action, action), append(advantage, make([]float32, len(action)))
		tokens = append(tokens, e.tokens...)
		in.Starts = append(in.Starts, int32(len(tokens)))
	}
	Advantages(advantage, b, cfg, 0)
	for _, a := range advantage {
		in.Advantage = append(in.Advantage, a...)
	}
	in.LogpOld, in.LogpGen = learner.logps(tokens), generator.logps(tokens)
	return tokens, in
}

// train takes epochs · parts optimizer steps on a batch, each on one part of its tokens.
func (p policy) train(tokens []sampled, in Tokens, cfg LossConfig, lr float64, epochs, parts int) {
	size := len(tokens) / parts
	for range epochs {
		for lo := 0; lo < len(tokens); lo += size {
			mini := slice(in, lo, lo+size)
			mini.LogpNew = p.logps(tokens[lo : lo+size])
			d := make([]float32, size)
			PolicyLoss(d, mini, cfg, float64(size))
			p.descend(tokens[lo:lo+size], d, lr)
		}
	}
}

// slice is the part lo:hi of a micro-batch. Its Starts are nil: cut where it does not matter, never inside a segment for a
// loss that has one ratio for each.
func slice(in Tokens, lo, hi int) Tokens {
	for _, lane := range []*[]float32{&in.LogpNew, &in.LogpOld, &in.LogpGen, &in.LogpRef, &in.Advantage, &in.Weight, &in.Share,
		&in.Entropy, &in.Value, &in.ValueOld, &in.Return} {
		if *lane != nil {
			*lane = (*lane)[lo:hi]
		}
	}
	if in.Lag != nil {
		in.Lag = in.Lag[lo:hi]
	}
	in.Starts, in.RolloutTokens = nil, nil
	return in
}
