package cli

import (
	"context"

	"molt/run"
	"molt/run/leg"
	"molt/run/recipe"
)

// evalCmd is `molt eval`.
type evalCmd struct{ settled }

// Help shows what kong cannot know.
func (*evalCmd) Help() string {
	return "Examples:\n\n  molt eval --model.model_name_or_path MODEL --eval.dataset held_out.jsonl --data.label_key answer --eval.temperature 0\n\n" +
		"Settings are those of `molt rl`; nothing is written."
}

func (c *evalCmd) Run(ctx context.Context, a *app) error {
	return settle(ctx, a, &c.settled, recipe.Defaults(), work[recipe.Config, *run.EvalResult]{check: recipe.CheckEval, plan: run.PlanEval,
		run: func(ctx context.Context, cfg *recipe.Config, _ []*recipe.Setting, view leg.View) (*run.EvalResult, error) {
			return run.Eval(ctx, cfg, view)
		}})
}
