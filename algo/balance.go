// The balance term of mixtures of experts. Like every loss here it needs the model only through a few numbers: for each
// expert of a layer, how many tokens were sent to it and how much probability it was given. An engine whose model has experts
// gives these lanes and takes the derivative; one whose model has none has nothing to give.

package algo

// Routing is what the router of one layer with E experts did with the tokens of a micro-batch, observations included: all of
// them pass through it.
type Routing struct {
	Routed []int64   // [E] tokens that were sent to the expert; one token goes to several
	Prob   []float64 // [E] Σ over tokens of the router's probability for it
	Tokens int       // that passed the router
}

// BalanceStats describes how even the routing of some layers was.
type BalanceStats struct {
	Layers    int
	NonFinite int     // of these, layers with a probability that is not finite: they add nothing
	Loss      float64 // coef · Σ over layers of E · Σ f·P: coef for each layer that is balanced
	Worst     float64 // the largest share of a layer's routed tokens that one expert got, times E: 1 when balanced, E when all went to one
}

// BalanceLoss adds to dProb [E] the derivative of a layer's balance term by Prob: the same for all tokens, so the engine adds
// dProb[e] to the gradient of every token's probability for expert e. (Switch Transformer, arXiv 2101.03961, eq. 4 to 6, for
// any number of experts a token.)
//
//	L = coef · E · Σ_e f_e·P_e      f_e = Routed_e / Σ Routed, a constant      P_e = Prob_e / Tokens
//	dL/dProb_e = coef · E · f_e / Tokens
//
// step is the whole optimizer step, its micro-batches joined by Add. A term computed from each micro-batch alone forces every
// one of them to be balanced, which holds back experts that specialise (arXiv 2501.11873).
func BalanceLoss(dProb []float64, step Routing, coef float64) BalanceStats {
	e := len(step.Routed)
	mustHave("Prob", len(step.Prob), e)
	mustHave("dProb", len(dProb), e)
	s := BalanceStats{Layers: 1}
	var routed int64
	var given float64
	for i, n := range step.Routed {
		routed += n
		given += step.Prob[i]
	}
	if routed == 0 || step.Tokens == 0 {
		return s
	}
	if !finite(given) {
		s.NonFinite = 1
		return s
	}
	for i, n := range step.Routed {
		f := float64(n) / float64(routed)
		dProb[i] += coef * float64(e) * f / float64(step.Tokens)
		s.Loss += coef * float64(e) * f * step.Prob[i] / float64(step.Tokens)
		s.Worst = max(s.Worst, f*float64(e))
	}
	return s
}

// Add joins what the same layer's router did with other tokens of the step.
func (r *Routing) Add(o Routing) {
	if r.Routed == nil {
		r.Routed, r.Prob = make([]int64, len(o.Routed)), make([]float64, len(o.Prob))
	}
	mustHave("Routed", len(o.Routed), len(r.Routed))
	mustHave("Prob", len(o.Prob), len(r.Prob))
	for e := range o.Routed {
		r.Routed[e] += o.Routed[e]
		r.Prob[e] += o.Prob[e]
	}
	r.Tokens += o.Tokens
}

// Add joins the statistics of other layers.
func (s *BalanceStats) Add(o BalanceStats) {
	s.Layers += o.Layers
	s.NonFinite += o.NonFinite
	s.Loss += o.Loss
	s.Worst = max(s.Worst, o.Worst)
}
