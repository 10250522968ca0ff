package cli

import (
	"context"

	"molt/internal/spell"
	"molt/run"
	"molt/run/leg"
)

// quickstartCmd is `molt quickstart`.
type quickstartCmd struct {
	Seed    uint64 `default:"0" help:"Seed of everything random."`
	Out     string `default:"runs/quickstart" help:"Folder to write into: new, or an unfinished quickstart to resume."`
	Control bool   `help:"Control experiment: train on shuffled rewards, from which nothing can be learned."`
	Threads int    `default:"0" help:"Worker threads; 0 takes all cores. Changes no bit of the result."`
	console
	DryRun bool `help:"Print what would be done; touch nothing."`
}

// Help says what it shows.
func (*quickstartCmd) Help() string {
	return `Makes a small language model from nothing, teaches it sloppy tool use from sloppy demonstrations, then repairs that by
reinforcement learning on a multi-turn tool task ("What do 3 pens and 2 cups cost?": lookup, lookup, calc, answer).
Needs no network, no GPU, no Python. The same command resumes an unfinished one.`
}

func (c *quickstartCmd) Run(ctx context.Context, a *app) error {
	q := run.QuickstartConfig{Seed: c.Seed, Out: c.Out, Control: c.Control, Threads: c.Threads}
	if c.DryRun {
		plan, err := run.PlanQuickstart(q)
		if err != nil {
			return err
		}
		if c.JSON {
			return a.dataJSON(plan)
		}
		return a.data(legible(plan.String()))
	}
	var result *run.QuickstartResult
	err := c.watch(ctx, a, func(view leg.View) (err error) {
		result, err = run.Quickstart(ctx, q, view)
		return err
	})
	if err != nil {
		return err
	}
	if !c.JSON {
		if err := a.data(legible(result.String())); err != nil {
			return err
		}
	}
	model := spell.Quoted(result.Checkpoint)
	a.next(
		next{"chat with it", "molt generate " + model + " --agent shop"},
		next{"train on your own file", "molt sft --model.model_name_or_path " + model + " --data.dataset FILE.jsonl " + gentle + " --ckpt.path runs/mine"},
		next{"look at a rollout", "molt show " + spell.Quoted(result.Run) + " --rollout best"},
	)
	if c.JSON {
		return a.dataJSON(result)
	}
	return nil
}

// gentle are settings with which a small model learns from a file of some hundred conversations.
const gentle = "--train.batch_size 8 --train.max_epochs 3 --model.adam.lr 3e-4"
