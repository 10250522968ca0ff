package cli

import (
	"context"
	"fmt"

	"molt/run/doctor"
	"molt/run/problem"
)

// doctorCmd is `molt doctor`.
type doctorCmd struct {
	Model   string `arg:"" optional:"" help:"Hugging Face model folder; without one, only this machine is looked at."`
	Threads int    `default:"0" placeholder:"N" help:"Worker threads; 0 takes all cores (default ${default})."`
	JSON    bool   `name:"json" help:"One JSON object: model, findings."`
}

// Help says what is looked at.
func (*doctorCmd) Help() string {
	return `Looks at files, tokenizer, chat template, memory and the two halves of the engine, and says what to do about what it finds. Nothing is written.
The exit code is not 0 when there is a problem; notes do not count.

Examples:

  molt doctor
  molt doctor MODEL --json`
}

func (c *doctorCmd) Run(ctx context.Context, a *app) error {
	r := doctor.Examine(ctx, c.Model, c.Threads)
	var err error
	if c.JSON {
		err = a.dataJSON(r)
	} else {
		err = a.data(legible(r.String()))
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return &problem.Problem{Code: problem.Interrupted, What: "interrupted before the end", Fix: "the same command looks again", Err: ctx.Err()}
	}
	if n := r.Problems(); n > 0 {
		return &problem.Problem{Code: problem.Model, Where: c.Model, What: fmt.Sprintf("the doctor found problems (%d)", n), Fix: "see the fixes above"}
	}
	return nil
}
