// Every name that a setting of this room may take, with what it needs. A new estimator, loss or mode is one function and
// one row here; configurations, --help and docs/algorithms.md read these tables, and a test walks them.

package algo

import "slices"

// Option is what all rows have.
type Option struct {
	Name    string   // as written in configurations and metrics
	Alias   []string // other spellings that are accepted; "" marks what a setting that is left empty means
	Does    string   // one line for people
	Formula string   // one line, in the words of the file that has the function
	Paper   string   // arXiv id; "" where there is none
	Code    string   // the function to read
	Test    string   // the test to read
}

// Called reports whether name is the row's name, or another spelling of it.
func (o Option) Called(name string) bool { return o.Name == name || slices.Contains(o.Alias, name) }

func (o Option) option() Option { return o }

// Estimator is a way to compute advantages.
type Estimator struct {
	Option
	MinGroup      int  // rollouts per prompt below which every advantage is 0 or has no baseline
	ReadsKL       bool // takes the KL to the reference from the reward
	ReadsValue    bool // takes a critic's values
	IgnoresReward bool // learns from the KL alone
	Discounts     bool // reads Gamma
	Whitens       bool // over the batch, unless told not to
	ScaleFree     bool // the same advantages whatever the mean and spread of a group's rewards
	ReadsK        bool // reads K

	group  func(advantage, reward []float64, cfg AdvantageConfig)                    // one group's rollouts
	tokens func(advantage [][]float32, b Batch, cfg AdvantageConfig, klCoef float64) // where group is nil: each token has its own
}

// rewardsAlone is a group estimator that has no settings.
func rewardsAlone(estimate func(advantage, reward []float64)) func(advantage, reward []float64, _ AdvantageConfig) {
	return func(advantage, reward []float64, _ AdvantageConfig) { estimate(advantage, reward) }
}

// Estimators lists the names of AdvantageConfig.Estimator.
var Estimators = []Estimator{
	{Option: Option{Name: "grpo", Does: "reward minus group mean, over the group's standard deviation",
		Formula: "A = (r − mean) / (std + 1e-9)", Paper: "2402.03300", Code: "GRPO", Test: "TestGroupEstimators"},
		MinGroup: 2, ScaleFree: true, group: rewardsAlone(GRPO)},
	{Option: Option{Name: "dr_grpo", Does: "reward minus group mean",
		Formula: "A = r − mean", Paper: "2503.20783", Code: "DrGRPO", Test: "TestGroupEstimators"},
		MinGroup: 2, group: rewardsAlone(DrGRPO)},
	{Option: Option{Name: "rloo", Does: "reward minus the mean of the group's other rewards",
		Formula: "A = n/(n−1) · (r − mean)", Paper: "2402.14740", Code: "RLOO", Test: "TestGroupEstimators"},
		MinGroup: 2, group: rewardsAlone(RLOO)},
	{Option: Option{Name: "pass_at_k", Does: "how much better the best of k is with the rollout than without it: trains for one success in k tries",
		Formula: "A = mean of max(r, max J) − max J over all J, k − 1 other rollouts of the group", Paper: "2505.15201", Code: "PassAtKGain", Test: "TestPassAtKGain"},
		MinGroup: 2, ReadsK: true, group: func(advantage, reward []float64, cfg AdvantageConfig) { PassAtKGain(advantage, reward, cfg.K) }},
	{Option: Option{Name: "reinforce_baseline", Does: "reward minus group mean, whitened over the batch",
		Formula: "A = whiten(r − mean)", Paper: "2501.03262", Code: "Whiten", Test: "TestBaselinesCompareInsideAGroupOnly"},
		MinGroup: 2, Whitens: true, group: rewardsAlone(DrGRPO)},
	{Option: Option{Name: "reinforce", Alias: []string{"reinforce++"}, Does: "discounted return with token-level KL, whitened over the batch",
		Formula: "A = whiten(G), G_t = r_t + γ·G_{t+1}", Paper: "2501.03262", Code: "RewardToGo", Test: "TestRewardToGo"},
		MinGroup: 1, ReadsKL: true, Discounts: true, Whitens: true, tokens: reinforce},
	{Option: Option{Name: "gae", Does: "λ-weighted return over a critic's values, whitened over the batch",
		Formula: "A_t = δ_t + γλ·A_{t'}, δ_t = r_t + γ·V_{t'} − V_t, t' the next action token", Paper: "1506.02438", Code: "GAE", Test: "TestGAE"},
		MinGroup: 1, ReadsKL: true, ReadsValue: true, Discounts: true, Whitens: true, tokens: GAE},
	{Option: Option{Name: "on_policy_distill", Does: "the teacher's log-prob minus the student's, token by token; no reward",
		Formula: "A_t = −coef·(Old_t − Ref_t)", Paper: "2306.13649", Code: "Distill", Test: "TestDistill"},
		MinGroup: 1, ReadsKL: true, IgnoresReward: true, tokens: Distill},
}

// Loss is a way to turn ratio and advantage into a gradient.
type Loss struct {
	Option
	ReadsOld   bool // compares with LogpOld
	Clips      bool // reads ClipLow and ClipHigh
	DualClips  bool // reads DualClip
	PerSegment bool // has one ratio for each segment: a pass must not split one
	HoldsRatio bool // the ratio is a constant weight, no gradient passes through it

	token func(r ratio, logpNew, advantage float64, cfg *LossConfig) term
	unit  func(sum float64, n int) ratio // of a segment's log-ratios; nil unless PerSegment
}

// Losses lists the names of LossConfig.Name.
var Losses = []Loss{
	{Option: Option{Name: "ppo", Does: "ratio times advantage, clipped on the side that would push further",
		Formula: "ℓ = −min(r·A, clip(r, 1−low, 1+high)·A)", Paper: "1707.06347", Code: "ppoClip", Test: "TestClip"},
		ReadsOld: true, Clips: true, DualClips: true, token: ppoClip},
	{Option: Option{Name: "gspo", Does: "ppo with one ratio for a whole segment, the geometric mean of its tokens'",
		Formula: "r = exp(mean(New − Old)) over the segment", Paper: "2507.18071", Code: "gspoClip", Test: "TestGSPO"},
		ReadsOld: true, Clips: true, PerSegment: true, token: gspoClip, unit: geometricRatio},
	{Option: Option{Name: "cispo", Does: "log-probability times advantage, weighted by the ratio up to a ceiling; every token keeps a gradient",
		Formula: "ℓ = −hold(min(r, ceiling))·A·New", Paper: "2506.13585", Code: "cispo", Test: "TestCISPO"},
		ReadsOld: true, HoldsRatio: true, token: cispo},
	{Option: Option{Name: "sapo", Does: "a smooth gate instead of a clip: the gradient fades as the ratio leaves 1",
		Formula: "ℓ = −4/τ·σ(τ·(r − 1))·A, τ by the sign of A", Paper: "2511.20347", Code: "sapo", Test: "TestSAPO"},
		ReadsOld: true, token: sapo},
	{Option: Option{Name: "policy_gradient", Alias: []string{"pg"}, Does: "log-probability times advantage, unbounded",
		Formula: "ℓ = −A·New", Code: "policyGradient", Test: "TestOnPolicyIsReinforce"},
		HoldsRatio: true, token: policyGradient},
}

// Proximal says which policy the ratio compares with.
type Proximal struct {
	Option
	Coupled bool // the ratio already weighs tokens by the policy that sampled them, so nothing corrects for it again

	lane func(in *Tokens) []float32
}

// Proximals lists the names of LossConfig.Proximal.
var Proximals = []Proximal{
	{Option: Option{Name: "decoupled", Alias: []string{""}, Does: "the learner at the start of the batch; tokens that others sampled are weighted by their mismatch",
		Formula: "r = exp(New − Old), weight exp(Old − Gen)", Paper: "2505.24298", Code: "PolicyLoss", Test: "TestClaimStaleness"},
		lane: (*Tokens).old},
	{Option: Option{Name: "behavior", Alias: []string{"coupled"}, Does: "the policy that sampled the token, as in PPO as first written; it saves a scoring pass and loses where rollouts are stale",
		Formula: "r = exp(New − Gen), weight 1", Paper: "1707.06347", Code: "PolicyLoss", Test: "TestProximal"},
		Coupled: true, lane: func(in *Tokens) []float32 { return in.LogpGen }},
}

// Aggregation is a way to turn the losses of tokens into one number.
type Aggregation struct {
	Option
	PerRollout bool // the tokens of a rollout share a weight of 1
	Constant   bool // reads MaxTokens

	denominator func(s StepSize, c LossConfig) float64
}

// Aggregations lists the names of LossConfig.Aggregation.
var Aggregations = []Aggregation{
	{Option: Option{Name: "token_mean", Alias: []string{"", "token-mean"}, Does: "every token of the step weighs the same",
		Formula: "Σ ℓ / tokens", Paper: "2503.14476", Code: "PolicyLoss", Test: "TestGlobalTokenMean"},
		denominator: func(s StepSize, _ LossConfig) float64 { return float64(s.Tokens) }},
	{Option: Option{Name: "rollout_sum", Alias: []string{"seq-mean-token-sum"}, Does: "mean over rollouts of the sum over their tokens",
		Formula: "Σ ℓ / rollouts", Code: "PolicyLoss", Test: "TestAggregations"},
		denominator: func(s StepSize, _ LossConfig) float64 { return float64(s.Rollouts) }},
	{Option: Option{Name: "rollout_mean", Alias: []string{"seq-mean-token-mean"}, Does: "mean over rollouts of the mean over their tokens: tokens of long rollouts weigh less",
		Formula: "Σ ℓ/|rollout| / rollouts", Paper: "2402.03300", Code: "Shares", Test: "TestAggregations"},
		PerRollout: true, denominator: func(s StepSize, _ LossConfig) float64 { return float64(s.Rollouts) }},
	{Option: Option{Name: "constant", Alias: []string{"seq-mean-token-sum-norm"}, Does: "mean over rollouts of the sum over their tokens, over a length that never changes",
		Formula: "Σ ℓ / (rollouts · max_tokens)", Paper: "2503.20783", Code: "PolicyLoss", Test: "TestAggregations"},
		Constant: true, denominator: func(s StepSize, c LossConfig) float64 { return float64(s.Rollouts) * float64(c.MaxTokens) }},
}

// Level says whose mismatch between generator and learner is judged.
type Level struct {
	Option
	Off        bool // nothing is judged or corrected
	PerSegment bool // whole segments are judged: kept or dropped, so the only mode is mask

	unit func(sum float64, n int) ratio // ratio of a segment from its summed log-mismatch; nil unless PerSegment
}

// Levels lists the names of CorrectionConfig.Level.
var Levels = []Level{
	{Option: Option{Name: "off", Alias: []string{"none"}, Does: "no correction: every weight is 1",
		Formula: "w = 1", Code: "Correct", Test: "TestCorrect"}, Off: true},
	{Option: Option{Name: "token", Does: "each token by its own mismatch",
		Formula: "m_t = exp(Old_t − Gen_t)", Paper: "1802.01561", Code: "Correct", Test: "TestCorrect"}},
	{Option: Option{Name: "sequence", Alias: []string{"seq"}, Does: "a segment by the product of its tokens' mismatches",
		Formula: "exp(Σ (Old − Gen))", Code: "Correct", Test: "TestSegmentsAreJudgedOneByOne"},
		PerSegment: true, unit: sequenceRatio},
	{Option: Option{Name: "geometric", Alias: []string{"geo"}, Does: "a segment by the geometric mean of its tokens' mismatches",
		Formula: "exp(mean(Old − Gen))", Code: "Correct", Test: "TestSegmentsAreJudgedOneByOne"},
		PerSegment: true, unit: geometricRatio},
}

// Mode says what becomes of a mismatch outside of the band.
type Mode struct {
	Option
	weight func(m, low, high float64) float64
}

// Modes lists the names of CorrectionConfig.Mode.
var Modes = []Mode{
	{Option{Name: "mask", Does: "weight 0 (IcePop)", Formula: "w = m if low ≤ m ≤ high else 0", Paper: "2510.18855",
		Code: "maskWeight", Test: "TestCorrect"}, maskWeight},
	{Option{Name: "clip", Does: "the nearer end of the band", Formula: "w = clip(m, low, high)",
		Code: "clipWeight", Test: "TestCorrect"}, clipWeight},
	{Option{Name: "truncate", Alias: []string{"trunc"}, Does: "the upper end of the band; small weights stay as they are (TIS)",
		Formula: "w = min(m, high)", Paper: "1802.01561", Code: "truncateWeight", Test: "TestCorrect"}, truncateWeight},
}

// KLEstimator is a way to estimate KL(new‖ref) from one sample.
type KLEstimator struct {
	Option
	Pulls    bool // its gradient leads to the reference, so that it can be a loss
	ReadsOld bool // is weighted by the ratio New/Old, so that it can only be a loss

	estimate func(d float64, r ratio) (value, slope float64)
}

// KLEstimators lists the names of KLConfig.Estimator.
var KLEstimators = []KLEstimator{
	{Option: Option{Name: "k1", Does: "log-ratio; for the reward and for distillation",
		Formula: "d", Code: "k1", Test: "TestKLEstimators"}, estimate: k1},
	{Option: Option{Name: "k2", Does: "half the squared log-ratio: as a loss, the gradient of the KL itself on fresh tokens",
		Formula: "d²/2", Code: "k2", Test: "TestWhatTheEstimatorsEstimate"}, Pulls: true, estimate: k2},
	{Option: Option{Name: "k3", Does: "never negative and little noise; as a loss its gradient is that of KL(ref‖new)",
		Formula: "exp(−d) − 1 + d", Paper: "2402.03300", Code: "k3", Test: "TestWhatTheEstimatorsEstimate"}, Pulls: true, estimate: k3},
	{Option: Option{Name: "k3_unbiased", Does: "k3 times the ratio: value and gradient are those of the KL, also once the policy has moved",
		Formula: "r·(exp(−d) − 1 + d)", Paper: "2512.02556", Code: "k3Unbiased", Test: "TestWhatTheEstimatorsEstimate"},
		Pulls: true, ReadsOld: true, estimate: k3Unbiased},
}

// LengthShape is a way in which the length of a rollout changes its reward.
type LengthShape struct {
	Option
	Grades bool // treats correct and wrong rollouts differently, by Solved

	shape func(reward []float64, length []int, cfg LengthConfig) // one group's rollouts; nil: nothing to do
}

// LengthShapes lists the names of LengthConfig.Shape.
var LengthShapes = []LengthShape{
	{Option: Option{Name: "off", Alias: []string{""}, Does: "length does not matter", Formula: "r",
		Code: "ShapeRewards", Test: "TestShapeRewards"}},
	{Option: Option{Name: "overlong", Does: "a penalty that grows over the last tokens before the limit",
		Formula: "r − factor·clip((len − (max − buffer))/buffer, 0, 1)", Paper: "2503.14476", Code: "overlong", Test: "TestOverlong"},
		shape: overlong},
	{Option: Option{Name: "linear", Does: "shorter than the group is better; a wrong rollout is never rewarded for being short",
		Formula: "r + factor·λ, λ = ½ − (len − min)/(max − min) of the group, at most 0 if wrong", Paper: "2501.12599", Code: "linear", Test: "TestLinear"},
		Grades: true, shape: linear},
	{Option: Option{Name: "cosine", Does: "a fixed reward by correctness and length: short if correct, long if wrong",
		Formula: "long + (short − long)·(1 + cos(π·len/max))/2", Paper: "2502.03373", Code: "cosine", Test: "TestCosine"},
		Grades: true, shape: cosine},
}

// Normalisation is a way to bring rewards to mean 0 and spread 1 before advantages are computed.
type Normalisation struct {
	Option
	normalise func(reward []float64, group []int64, seen Running) // nil: nothing to do
}

// Normalisations lists the names of RewardConfig.Normalise.
var Normalisations = []Normalisation{
	{Option: Option{Name: "off", Alias: []string{""}, Does: "rewards stay as they are", Formula: "r",
		Code: "ShapeRewards", Test: "TestShapeRewards"}},
	{Option: Option{Name: "group", Does: "by the mean and spread of the prompt's rollouts",
		Formula: "(r − mean) / (std + 1e-9) of the group", Paper: "2402.03300", Code: "normaliseGroups", Test: "TestNormalisations"}, normalise: normaliseGroups},
	{Option: Option{Name: "batch", Does: "by the mean and spread of the batch",
		Formula: "(r − mean) / (std + 1e-9) of the batch", Paper: "2501.03262", Code: "normaliseBatch", Test: "TestNormalisations"}, normalise: normaliseBatch},
	{Option: Option{Name: "running", Does: "by the mean and spread of every reward of the run so far",
		Formula: "(r − mean) / (std + 1e-9) of the run", Paper: "1602.07714", Code: "normaliseRunning", Test: "TestNormalisations"}, normalise: normaliseRunning},
}
