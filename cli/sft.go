package cli

import (
	"context"

	"molt/internal/spell"
	"molt/run/finetune"
	"molt/run/recipe"
)

// sftCmd is `molt sft`.
type sftCmd struct{ settled }

// Help shows what kong cannot know.
func (*sftCmd) Help() string {
	return "Settings are dotted flags, in a recipe or on the command line. `molt help settings.sft` lists them.\n\nExamples:\n\n" +
		"  molt sft --model.model_name_or_path MODEL --data.dataset chats.jsonl --train.steps 200 --ckpt.path runs/sft\n\n" +
		`A row of the data is {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}.`
}

func (c *sftCmd) Run(ctx context.Context, a *app) error {
	return settle(ctx, a, &c.settled, recipe.SFTDefaults(), work[recipe.SFTConfig, *finetune.Result]{plan: finetune.Plan, run: finetune.Run, next: func(r *finetune.Result) []next {
		return []next{
			{"talk to the model", speak(r.Checkpoint, r.Base)},
			{"open the report", spell.Quoted(r.Report)},
		}
	}})
}
