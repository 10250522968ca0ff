// What every run asks and says before it starts.

package leg

import (
	"context"
	"errors"
	"fmt"

	"molt/engine/local"
	"molt/internal/spell"
	"molt/numeric/model"
	"molt/run/machine"
	"molt/run/problem"
)

// BeforeAnything is the error of a run that was interrupted while it looked at its input.
func BeforeAnything(ctx context.Context) error {
	return &problem.Problem{Code: problem.Interrupted, What: "stopped before anything was written", Fix: "the same command begins again", Err: context.Cause(ctx)}
}

// PlannedMemory is what the engine would reserve.
func PlannedMemory(shape model.Config, c local.Config) (local.Memory, error) {
	m, err := local.Plan(shape, c)
	if err != nil {
		return m, &problem.Problem{Code: problem.Setting, What: err.Error(), Fix: "change the settings of the engine", Err: err}
	}
	return m, nil
}

// Fits refuses what needs more memory than the machine has, as far as that is known.
func Fits(need int64, knobs string) error {
	if have := machine.Memory(); have > 0 && (need < 0 || need > have) {
		return &problem.Problem{Code: problem.Resource, What: fmt.Sprintf("the engine would need %s of memory and the machine has %s", spell.MiB(need), spell.MiB(have)), Fix: "lower " + knobs}
	}
	return nil
}

// MaxProblems is how many rows are complained about at once.
const MaxProblems = 20

func NotStarted(model string, err error) error {
	return &problem.Problem{Code: problem.Model, Where: model, What: err.Error(), Fix: "choose another model", Err: err}
}

// FirstErrors joins the first n errors.
func FirstErrors(errs []error, n int) error {
	var found []error
	for _, err := range errs {
		if err != nil && len(found) < n {
			found = append(found, err)
		}
	}
	return errors.Join(found...)
}
