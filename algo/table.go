// Every name that a setting of this room may take, with what it needs. A new estimator, loss or mode is one function and
// one row here; configurations, --help and the documentation read these tables.

package algo

import (
	"fmt"
	"slices"
	"strings"
)

// Option is what all rows have.
type Option struct {
	Name  string   // as written in configurations and metrics
	Alias []string // other spellings that are accepted
	Does  string   // one line for people
	Paper string   // arXiv id; "" where there is none
}

func (o Option) option() Option { return o }

// Estimator is a way to compute advantages.
type Estimator struct {
	Option
	MinGroup int  // rollouts per prompt below which every advantage is 0 or has no baseline
	ReadsKL  bool // takes the KL to the reference from the reward, and discounts
	Whitens  bool // over the batch, unless told not to

	group func(advantage, reward []float64) // one group's rollouts; nil: each token has its own return
}

// Estimators lists the names of AdvantageConfig.Estimator.
var Estimators = []Estimator{
	{Option: Option{"grpo", nil, "reward minus group mean, over the group's standard deviation", "2402.03300"},
		MinGroup: 2, group: GRPO},
	{Option: Option{"dr_grpo", nil, "reward minus group mean", "2503.20783"},
		MinGroup: 2, group: DrGRPO},
	{Option: Option{"rloo", nil, "reward minus the mean of the group's other rewards", "2402.14740"},
		MinGroup: 2, group: RLOO},
	{Option: Option{"reinforce_baseline", nil, "reward minus group mean, whitened over the batch", "2501.03262"},
		MinGroup: 2, Whitens: true, group: DrGRPO},
	{Option: Option{"reinforce", []string{"reinforce++"}, "discounted return with token-level KL, whitened over the batch", "2501.03262"},
		MinGroup: 1, ReadsKL: true, Whitens: true},
}

// Loss is a way to turn ratio and advantage into a gradient.
type Loss struct {
	Option
	ReadsOld bool // compares with LogpOld
	Clips    bool // reads ClipLow, ClipHigh and DualClip

	token func(r ratio, logpNew, advantage float64, cfg *LossConfig) term
}

// Losses lists the names of LossConfig.Name.
var Losses = []Loss{
	{Option: Option{"ppo", nil, "ratio times advantage, clipped on the side that would push further", "1707.06347"},
		ReadsOld: true, Clips: true, token: ppoClip},
	{Option: Option{"policy_gradient", []string{"pg"}, "log-probability times advantage, unbounded", ""},
		token: policyGradient},
}

// Level says whose mismatch between generator and learner is judged.
type Level struct {
	Option
	Off        bool // nothing is judged or corrected
	PerSegment bool // whole segments are judged: kept or dropped, so the only mode is mask

	unit func(sum float64, n int) float64 // ratio of a segment from its summed log-mismatch; nil unless PerSegment
}

// Levels lists the names of CorrectionConfig.Level.
var Levels = []Level{
	{Option: Option{"off", []string{"none"}, "no correction: every weight is 1", ""}, Off: true},
	{Option: Option{"token", nil, "each token by its own mismatch", ""}},
	{Option: Option{"sequence", []string{"seq"}, "a segment by the product of its tokens' mismatches", ""},
		PerSegment: true, unit: sequenceRatio},
	{Option: Option{"geometric", []string{"geo"}, "a segment by the geometric mean of its tokens' mismatches", ""},
		PerSegment: true, unit: geometricRatio},
}

// Mode says what becomes of a mismatch outside of the band.
type Mode struct {
	Option
	weight func(m, low, high float64) float64
}

// Modes lists the names of CorrectionConfig.Mode.
var Modes = []Mode{
	{Option{"mask", nil, "weight 0", "2510.18855"}, maskWeight},
	{Option{"clip", nil, "the nearer end of the band", ""}, clipWeight},
	{Option{"truncate", []string{"trunc"}, "the upper end of the band; small weights stay as they are", "1802.01561"}, truncateWeight},
}

// KLEstimator is a way to estimate KL(new‖ref) from one sample.
type KLEstimator struct {
	Option
	Pulls bool // its gradient leads to the reference, so that it can be a loss

	estimate func(d float64) (value, slope float64)
}

// KLEstimators lists the names of KLConfig.Estimator.
var KLEstimators = []KLEstimator{
	{Option: Option{"k1", nil, "log-ratio", ""}, estimate: k1},
	{Option: Option{"k2", nil, "half the squared log-ratio", ""}, Pulls: true, estimate: k2},
	{Option: Option{"k3", nil, "exp(−d) − 1 + d of the log-ratio d", "2402.03300"}, Pulls: true, estimate: k3},
}

// find returns the row with this name or alias, or an error that lists the names, the most similar one first.
func find[T interface{ option() Option }](rows []T, name string) (T, error) {
	names := make([]string, len(rows))
	for i, r := range rows {
		o := r.option()
		if o.Name == name || slices.Contains(o.Alias, name) {
			return r, nil
		}
		names[i] = o.Name
	}
	slices.SortStableFunc(names, func(a, b string) int { return distance(name, a) - distance(name, b) })
	var none T
	return none, fmt.Errorf("no such name: %q; valid, nearest first: %s", name, strings.Join(names, ", "))
}

// row is find for names that Check has accepted.
func row[T interface{ option() Option }](rows []T, name string) T {
	r, err := find(rows, name)
	if err != nil {
		panic("algo: " + err.Error())
	}
	return r
}

// distance counts the letters to insert, delete or replace on the way from a to b (Levenshtein 1966).
func distance(a, b string) int {
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		diagonal := last[0]
		last[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = last[j+1]
			last[j+1] = min(cost, last[j]+1, diagonal+1)
		}
	}
	return last[len(b)]
}
