package main

import (
	"context"
	"errors"

	"molt/run"
	"molt/run/recipe"
)

// evalCmd is `molt eval`.
type evalCmd struct {
	Recipe []string `arg:"" optional:"" help:"Recipe files (YAML); later ones win, flags win over all."`
	console
	DryRun bool `help:"Print the resolved configuration and the plan; touch nothing."`
}

// Help shows what kong cannot know.
func (*evalCmd) Help() string {
	return "Examples:\n\n  molt eval --model.model_name_or_path MODEL --eval.dataset held_out.jsonl --data.label_key answer --eval.temperature 0\n\n" +
		"Settings are those of `molt rl`; nothing is written."
}

func (c *evalCmd) Run(ctx context.Context, a *app) error {
	cfg := recipe.Defaults()
	settings := recipe.Settings(&cfg)
	if err := errors.Join(a.resolve(settings, c.Recipe), recipe.CheckEval(settings)); err != nil {
		return err
	}
	if c.DryRun {
		plan, err := run.PlanEval(&cfg)
		if err != nil {
			return err
		}
		return a.printPlan(plan, settings, c.JSON)
	}
	var result *run.EvalResult
	err := c.watch(ctx, a, func(view run.View) (err error) {
		result, err = run.Eval(ctx, &cfg, view)
		return err
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.dataJSON(result)
	}
	return a.data(result.String())
}
