package main

import (
	"context"

	"molt/internal/spell"
	"molt/run"
	"molt/run/recipe"
)

// rlCmd is `molt rl`.
type rlCmd struct {
	Recipe []string `arg:"" optional:"" help:"Recipe files (YAML); later ones win, flags win over all."`
	console
	DryRun bool `help:"Print the resolved configuration and the plan; touch nothing."`
}

// Help shows what kong cannot know.
func (*rlCmd) Help() string {
	return "Settings are dotted flags, in a recipe or on the command line: --rollout.batch_size 16. `molt help settings` lists them.\n\nExamples:\n\n" +
		"  molt rl recipe.yaml --train.seed 2 --dry-run\n" +
		"  molt rl --model.model_name_or_path MODEL --data.prompt_dataset prompts.jsonl --data.label_key answer --train.steps 20 --ckpt.path runs/one"
}

func (c *rlCmd) Run(ctx context.Context, a *app) error {
	cfg := recipe.Defaults()
	settings := recipe.Settings(&cfg)
	if err := a.resolve(settings, c.Recipe); err != nil {
		return err
	}
	if c.DryRun {
		plan, err := run.PlanRL(&cfg)
		if err != nil {
			return err
		}
		return a.printPlan(plan, settings, c.JSON)
	}
	var result *run.RLResult
	err := c.watch(ctx, a, func(view run.View) (err error) {
		result, err = run.RL(ctx, &cfg, settings, view)
		return err
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.dataJSON(result)
	}
	if err := a.data(result.String()); err != nil {
		return err
	}
	a.next(
		next{"look at the run", "molt show " + spell.Quoted(result.Run)},
		next{"talk to the model", "molt generate " + spell.Quoted(result.Checkpoint)},
		next{"open the report", result.Report},
	)
	return nil
}
