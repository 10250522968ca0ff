package main

import (
	"context"

	"molt/internal/spell"
	"molt/run"
	"molt/run/recipe"
)

// sftCmd is `molt sft`.
type sftCmd struct {
	Recipe []string `arg:"" optional:"" help:"Recipe files (YAML); later ones win, flags win over all."`
	console
	DryRun bool `help:"Print the resolved configuration and the plan; touch nothing."`
}

// Help shows what kong cannot know.
func (*sftCmd) Help() string {
	return "Settings are dotted flags, in a recipe or on the command line. `molt help settings.sft` lists them.\n\nExamples:\n\n" +
		"  molt sft --model.model_name_or_path MODEL --data.dataset chats.jsonl --train.steps 200 --ckpt.path runs/sft\n\n" +
		`A row of the data is {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}.`
}

func (c *sftCmd) Run(ctx context.Context, a *app) error {
	cfg := recipe.SFTDefaults()
	settings := recipe.Settings(&cfg)
	if err := a.resolve(settings, c.Recipe); err != nil {
		return err
	}
	if c.DryRun {
		plan, err := run.PlanSFT(&cfg)
		if err != nil {
			return err
		}
		return a.printPlan(plan, settings, c.JSON)
	}
	var result *run.SFTResult
	err := c.watch(ctx, a, func(view run.View) (err error) {
		result, err = run.SFT(ctx, &cfg, settings, view)
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
		next{"talk to the model", "molt generate " + spell.Quoted(result.Checkpoint)},
		next{"open the report", result.Report},
	)
	return nil
}
