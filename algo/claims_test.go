package algo

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Controlled experiments, one for each claim of a paper, on policies whose reward, entropy and KL are known exactly. Each
// compares two settings that differ in what the claim is about, on the same seeds, and asserts the size of the effect.
// docs/algorithms.md says where an effect was looked for and not found.

func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

var unclipped = LossConfig{Name: "ppo", ClipLow: 1, ClipHigh: expBound}

// PPO's clip bounds how far several epochs on one batch move the policy (arXiv 1707.06347 §3): KL(old‖new) after 16 updates
// is at least 5 times larger without it, at every learning rate over a factor of 8.
func TestClaimClipBoundsKL(t *testing.T) {
	for _, lr := range []float64{.5, 1, 2, 4} {
		var moved [2]float64 // largest KL over seeds: clipped, unclipped
		for seed := range uint64(5) {
			for i, cfg := range []LossConfig{clip20, unclipped} {
				r := dice(seed)
				p := newPolicy(1, 10)
				for j := range p[0] {
					p[0][j] = r.NormFloat64()
				}
				old := p.clone()
				batch := pull(old, r, 256, 256, func(_, action int) float64 { return truth(action < 3) })
				tokens, in := layOut(batch, AdvantageConfig{Estimator: "grpo"}, old, old)
				p.train(tokens, in, cfg, lr, 4, 4)
				moved[i] = max(moved[i], old.kl(p, 0))
			}
		}
		t.Logf("learning rate %v: KL %.3f clipped, %.3f unclipped", lr, moved[0], moved[1])
		if moved[0] > .3 || moved[1] < 5*moved[0] {
			t.Errorf("learning rate %v: KL %v clipped and %v unclipped; want at most .3 and 5 times as much", lr, moved[0], moved[1])
		}
	}
}

// pull plays n one-token rollouts in groups, all of a group in the same state, the states in turn.
func pull(p policy, r *rand.Rand, n, group int, reward func(state, action int) float64) []episode {
	var out []episode
	for i := range n {
		state := i / group % len(p)
		action := p.sample(state, r)
		out = append(out, episode{int64(i / group), reward(state, action), []sampled{{state, action}}})
	}
	return out
}

func truth(x bool) float64 {
	if x {
		return 1
	}
	return 0
}

// GRPO divides a rollout's loss by its length, so a wrong rollout is punished less per token the longer it is, and wrong
// rollouts grow; Dr.GRPO divides by a constant, and they do not (arXiv 2503.20783 §3.1). Right or wrong is a coin here, and
// length earns nothing.
func TestClaimLengthBias(t *testing.T) {
	length := func(seed uint64, estimator string, cfg LossConfig) (wrong float64) {
		r := dice(seed)
		p := policy{{math.Log(9), 0}, {math.Log(9), 0}} // go on or stop, after a wrong and a right answer: ten tokens
		for range 25 {
			var batch []episode
			for i := range 512 {
				e := episode{group: int64(i / 8), reward: float64(r.IntN(2))}
				for stopped := false; !stopped && len(e.tokens) < 200; {
					s := sampled{int(e.reward), p.sample(int(e.reward), r)}
					e.tokens, stopped = append(e.tokens, s), s.action == 1
				}
				batch = append(batch, e)
			}
			tokens, in := layOut(batch, AdvantageConfig{Estimator: estimator}, p, p)
			in.LogpNew, in.Share = in.LogpOld, make([]float32, len(tokens))
			Shares(in.Share, in, cfg)
			d := make([]float32, len(tokens))
			PolicyLoss(d, in, cfg, cfg.Denominator(StepSize{Tokens: len(tokens), Rollouts: len(batch)}))
			p.descend(tokens, d, .5)
		}
		return 1 / math.Exp(logSoftmax(p[0])[1])
	}
	for seed := range uint64(3) {
		grpo, dr := clip20, clip20
		grpo.Aggregation, dr.Aggregation, dr.MaxTokens = "rollout_mean", "constant", 10
		biased, fair := length(seed, "grpo", grpo), length(seed, "dr_grpo", dr)
		t.Logf("wrong rollouts of 10 tokens have %.1f after GRPO and %.2f after Dr.GRPO", biased, fair)
		if biased < 1.3*10 || math.Abs(fair-10) > .5 {
			t.Errorf("seed %d: %v tokens after GRPO and %v after Dr.GRPO; want 13 or more, and 10 within 5%%", seed, biased, fair)
		}
	}
}

// The gradient of one token of a wrong rollout, at 10 and at 100 tokens: 10 times apart under GRPO, equal under Dr.GRPO.
func TestClaimGradientPerToken(t *testing.T) {
	for _, c := range []struct {
		estimator, aggregation string
		ratio                  float64
	}{{"grpo", "rollout_mean", 10}, {"dr_grpo", "constant", 1}, {"dr_grpo", "token_mean", 1}} {
		var batch []episode
		for i, n := range []int{10, 10, 100} {
			batch = append(batch, episode{reward: truth(i == 0), tokens: make([]sampled, n)})
		}
		p := newPolicy(1, 2)
		_, in := layOut(batch, AdvantageConfig{Estimator: c.estimator}, p, p)
		cfg := clip20
		cfg.Aggregation, cfg.MaxTokens = c.aggregation, 100
		in.LogpNew, in.Share = in.LogpOld, make([]float32, 120)
		Shares(in.Share, in, cfg)
		d := make([]float32, 120)
		PolicyLoss(d, in, cfg, cfg.Denominator(StepSize{Tokens: 120, Rollouts: 3}))
		nearly(t, c.estimator+" "+c.aggregation, float64(d[10]/d[20]), c.ratio)
	}
}

// A higher upper clip keeps more entropy at equal reward (Clip-Higher: DAPO, arXiv 2503.14476 §3.1). Two tokens: the first
// decides the reward, of which four fifths are noise, and the second decides nothing. Both settings learn the first equally
// well; what they do to the second is drift, and the symmetric clip stops its rise sooner than its fall.
func TestClaimClipHigherKeepsEntropy(t *testing.T) {
	run := func(seed uint64, high float64) (reward, entropy float64) {
		r := dice(seed)
		p := newPolicy(2, 4)
		for range 120 {
			var batch []episode
			for i := range 64 {
				e := episode{group: int64(i / 8), tokens: []sampled{{0, p.sample(0, r)}, {1, p.sample(1, r)}}}
				e.reward = truth(e.tokens[0].action == 0)
				if r.Float64() < .8 {
					e.reward = float64(r.IntN(2))
				}
				batch = append(batch, e)
			}
			tokens, in := layOut(batch, AdvantageConfig{Estimator: "grpo"}, p, p)
			p.train(tokens, in, LossConfig{Name: "ppo", ClipLow: .2, ClipHigh: high}, 1, 4, 4)
		}
		return p.mean(0, func(a int) float64 { return truth(a == 0) }), p.entropy(1)
	}
	const seeds = 24
	var reward, entropy [2]float64
	for i, high := range []float64{.2, .28} {
		for seed := range uint64(seeds) {
			r, e := run(seed, high)
			reward[i] += r / seeds
			entropy[i] += e / seeds
		}
	}
	t.Logf("clip .2 and .28: reward %.3f, entropy %.3f nats", reward, entropy)
	if math.Abs(reward[0]-reward[1]) > .01 || reward[0] < .98 || entropy[1] < 1.15*entropy[0] {
		t.Errorf("reward %v, entropy %v; want equal rewards and 15%% more entropy", reward, entropy)
	}
}

// Near-ties: GRPO blows the noise of a prompt whose rollouts are all alike up to the size of a real signal; REINFORCE++
// normalises over the batch, and leaves it small (arXiv 2501.03262 §3). One prompt has a right answer, the other has only
// noise of a thousandth; what the noise does to the policy is drift. It holds while some prompt of the batch has a signal:
// where all are nearly tied, whitening divides by their noise as well.
func TestClaimNearTies(t *testing.T) {
	for seed := range uint64(5) {
		var largest, drift [2]float64
		for i, estimator := range []string{"grpo", "reinforce_baseline"} {
			r := dice(seed)
			p := newPolicy(2, 8)
			start := p.clone()
			for range 20 {
				batch := pull(p, r, 64, 8, func(state, action int) float64 {
					if state == 1 {
						return .5 + .001*r.Float64()
					}
					return truth(action < 4)
				})
				tokens, in := layOut(batch, AdvantageConfig{Estimator: estimator}, p, p)
				for k, token := range tokens {
					if token.state == 1 {
						largest[i] = max(largest[i], math.Abs(float64(in.Advantage[k])))
					}
				}
				p.train(tokens, in, clip20, .3, 1, 1)
			}
			drift[i] = start.kl(p, 1)
		}
		t.Logf("seed %d: |A| of noise up to %.4f, drift %.2g nats", seed, largest, drift)
		if largest[0] < 10*largest[1] || largest[1] > .01 || drift[0] < 10*drift[1] {
			t.Errorf("seed %d: |A| %v and drift %v under grpo and reinforce_baseline; want 10 times apart", seed, largest, drift)
		}
	}
}

// Rollouts 8 versions old: with the clip around the learner at the start of the batch, and tokens weighted by their mismatch,
// training is as good as in step; with the clip around the policy that sampled, it is held back to what that policy was
// (decoupled PPO: AReaL, arXiv 2505.24298 §5.2). At learning rates over a factor of 20.
func TestClaimStaleness(t *testing.T) {
	coupled := clip20
	coupled.Proximal = "behavior"
	off, tis := CorrectionConfig{Level: "off", Mode: "mask"}, CorrectionConfig{"token", "truncate", .5, 5}
	for _, lr := range []float64{.1, .5, 2} {
		const seeds = 5
		var synchronous, decoupled, naive float64
		for seed := range uint64(seeds) {
			s, d, n := learnAtLag(seed, 0, lr, clip20, off), learnAtLag(seed, 8, lr, clip20, tis), learnAtLag(seed, 8, lr, coupled, off)
			synchronous, decoupled, naive = synchronous+s/seeds, decoupled+d/seeds, naive+n/seeds
			if d < .95*s || n > .9*s {
				t.Errorf("learning rate %v, seed %d: reward %.3f in step; at lag 8 %.3f decoupled and %.3f coupled", lr, seed, s, d, n)
			}
		}
		t.Logf("learning rate %v: reward %.3f in step; at lag 8 %.3f decoupled, %.3f coupled", lr, synchronous, decoupled, naive)
	}
}

// learnAtLag trains for 40 steps on rollouts that are lag versions old, and returns the reward.
func learnAtLag(seed uint64, lag int, lr float64, cfg LossConfig, correction CorrectionConfig) (reward float64) {
	r := dice(seed)
	p := newPolicy(4, 8)
	var versions []policy
	for step := range 40 {
		versions = append(versions, p.clone())
		generator := versions[max(0, step-lag)]
		batch := pull(generator, r, 128, 8, func(state, action int) float64 { return truth(action == state) })
		tokens, in := layOut(batch, AdvantageConfig{Estimator: "grpo"}, p, generator)
		in.Weight = make([]float32, len(tokens))
		Correct(in.Weight, in, correction)
		p.train(tokens, in, cfg, lr, 2, 4)
	}
	for s := range p {
		reward += p.mean(s, func(a int) float64 { return truth(a == s) }) / float64(len(p))
	}
	return reward
}

// The student samples sequences, the teacher judges each token: the reverse KL between them goes to 0 (arXiv 2306.13649).
func TestClaimDistillation(t *testing.T) {
	r := dice(1)
	student, teacher := newPolicy(6, 6), newPolicy(6, 6) // the state is the token before
	for s := range teacher {
		for a := range teacher[s] {
			student[s][a], teacher[s][a] = r.NormFloat64(), 2.5*r.NormFloat64()
		}
	}
	apart := func() (kl float64) {
		for s := range student {
			kl += student.kl(teacher, s) / float64(len(student))
		}
		return kl
	}
	before := apart()
	for range 250 {
		var batch []episode
		for range 64 {
			e := episode{}
			for state := r.IntN(6); len(e.tokens) < 8; state = e.tokens[len(e.tokens)-1].action {
				e.tokens = append(e.tokens, sampled{state, student.sample(state, r)})
			}
			batch = append(batch, e)
		}
		tokens, in := layOut(batch, AdvantageConfig{Estimator: "dr_grpo"}, student, student)
		kl := make([]float32, len(tokens))
		TokenKL(kl, in.LogpOld, teacher.logps(tokens), "k1")
		action := make([]bool, len(tokens))
		for i := range action {
			action[i] = true
		}
		all := Batch{Reward: []float64{0}, Group: []int64{0}, Rollout: []int{0}, Action: [][]bool{action}, KL: [][]float32{kl}}
		Advantages([][]float32{in.Advantage}, all, AdvantageConfig{Estimator: "on_policy_distill"}, 1)
		student.train(tokens, in, clip20, 4, 1, 1)
	}
	t.Logf("reverse KL %.3f nats before, %.5f after", before, apart())
	if before < 1 || apart() > .005 {
		t.Errorf("reverse KL %v before and %v after; want more than 1 and next to nothing", before, apart())
	}
}

// λ trades bias for variance (arXiv 1506.02438 §3). The first action earns 1 at the end of 20 tokens, each of which adds
// noise to the reward; the critic knows nothing. A small λ believes the critic, a large one the noise.
func TestClaimLambda(t *testing.T) {
	const walks, length = 2000, 20
	var bias, variance []float64
	for _, lambda := range []float64{0, .8, .95, 1} {
		r := dice(7)
		estimates := make([]float64, walks)
		for w := range estimates {
			action, value, noise := make([]bool, length), make([]float32, length), make([]float32, length)
			for i := range action {
				action[i], noise[i] = true, float32(r.NormFloat64())
			}
			a, _ := gae(AdvantageConfig{Gamma: 1, Lambda: lambda, NoWhiten: true}, []float64{1}, [][]bool{action}, [][]float32{value}, [][]float32{noise}, .1)
			estimates[w] = float64(a[0][0])
		}
		bias = append(bias, math.Abs(mean(estimates)-1))
		variance = append(variance, sampleStd(estimates)*sampleStd(estimates))
	}
	t.Logf("λ 0, .8, .95, 1: bias %.3f, variance %.3f", bias, variance)
	for i := range bias[1:] {
		if bias[i+1] >= bias[i] || variance[i+1] <= variance[i] {
			t.Errorf("bias %v, variance %v; want the one to fall and the other to rise with λ", bias, variance)
		}
	}
	nearly(t, "at λ = 0, the noise of one token", math.Round(variance[0]/.01), 1)
}
