package cli

import (
	"context"

	"molt/internal/spell"
	"molt/run"
	"molt/run/recipe"
)

// rlCmd is `molt rl`.
type rlCmd struct{ settled }

// Help shows what kong cannot know.
func (*rlCmd) Help() string {
	return "Settings are dotted flags, in a recipe or on the command line: --rollout.batch_size 16. `molt help settings` lists them.\n\nExamples:\n\n" +
		"  molt rl recipe.yaml --train.seed 2 --dry-run\n" +
		"  molt rl --model.model_name_or_path MODEL --data.prompt_dataset prompts.jsonl --data.label_key answer --train.steps 20 --ckpt.path runs/one"
}

func (c *rlCmd) Run(ctx context.Context, a *app) error {
	return settle(ctx, a, &c.settled, recipe.Defaults(), work[recipe.Config, *run.RLResult]{check: recipe.CheckFlags, plan: run.PlanRL, run: run.RL, next: func(r *run.RLResult) []next {
		return []next{
			{"look at the run", "molt show " + spell.Quoted(r.Run)},
			{"talk to the model", speak(r.Checkpoint, r.Base)},
			{"open the report", spell.Quoted(r.Report)},
		}
	}})
}

// speak is how to talk to what a run made: a model, or an adapter for a base.
func speak(made, base string) string {
	if base == "" {
		return "molt generate " + spell.Quoted(made)
	}
	return "molt generate " + spell.Quoted(base) + " --adapter " + spell.Quoted(made)
}
