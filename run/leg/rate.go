// A learning rate that nobody chose.

package leg

import (
	"fmt"

	"molt/metrics"
	"molt/run/recipe"
)

// small is how many parameters a model has, at least, that the default learning rates are for.
const small = 500_000_000

// DefaultRate warns of a small model at the learning rate that recipes have where none was chosen. section is "actor." or
// "model.".
func DefaultRate(section string, c, usual recipe.OptimConfig, parameters int64) (a metrics.Alarm, warns bool) {
	if c.Optim == "muon" || c.Adam.LR != usual.Adam.LR || parameters >= small {
		return a, false
	}
	return metrics.Alarm{
		Name: "default-learning-rate", Severity: metrics.Warning,
		Sentence: fmt.Sprintf("the learning rate is the default, %g, which is for models of billions of parameters; this one has %.3g million and will hardly move", c.Adam.LR, float64(parameters)/1e6),
		Fix:      fmt.Sprintf("choose one with --%sadam.lr; the quickstart trains 0.45 million parameters at 7e-4", section),
	}, true
}
