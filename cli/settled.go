// A command that settings describe: recipe files and dotted flags become a configuration, which is shown or carried out.

package cli

import (
	"context"
	"errors"
	"fmt"

	"molt/run/leg"
	"molt/run/recipe"
)

// settled holds what such commands have in common.
type settled struct {
	Recipe []string `arg:"" optional:"" help:"Recipe files (YAML); later ones win, flags win over all."`
	console
	DryRun bool `help:"Print the resolved configuration and the plan; touch nothing."`
}

// work is what a configuration C leads to.
type work[C any, R fmt.Stringer] struct {
	check func(*C, []*recipe.Setting) error // of the command line, before anything is opened; nil for none
	plan  func(context.Context, *C) (*leg.Plan, error)
	run   func(context.Context, *C, []*recipe.Setting, leg.View) (R, error)
	next  func(R) []next // what to type then; nil for nothing
}

// settle does the work that the command line asks for. cfg holds the defaults.
func settle[C any, R fmt.Stringer](ctx context.Context, a *app, s *settled, cfg C, w work[C, R]) error {
	settings := recipe.Settings(&cfg)
	err := a.resolve(settings, s.Recipe)
	if w.check != nil {
		err = errors.Join(err, w.check(&cfg, settings))
	}
	if err == nil {
		err = a.locateSettings(ctx, settings)
	}
	if err != nil {
		return err
	}
	if s.DryRun {
		plan, err := w.plan(ctx, &cfg)
		if err != nil {
			return err
		}
		return a.printPlan(plan, settings, s.JSON)
	}
	var result R
	err = s.watch(ctx, a, func(view leg.View) (err error) {
		result, err = w.run(ctx, &cfg, settings, view)
		return err
	})
	if err != nil {
		return err
	}
	if s.JSON {
		return a.dataJSON(result)
	}
	if err := a.data(legible(result.String())); err != nil || w.next == nil {
		return err
	}
	a.next(w.next(result)...)
	return nil
}
