// Whether rollouts of these prompts can begin, and runs of this size fit: asked before anything is started.

package run

import (
	"context"
	"errors"
	"fmt"

	"molt/agent"
	"molt/chat"
	"molt/engine/local"
	"molt/run/leg"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/run/tasks"
)

// possible renders every prompt, and refuses one that leaves no room for a reply or that the agent cannot begin with.
func possible(ctx context.Context, m *models.Model, c *recipe.Config, create func() agent.Env, sets []*tasks.Set) error {
	var problems []error
	distinct := map[string]bool{} // problems that say the same are shown once
	for _, set := range sets {
		tasks, err := set.Tasks(c.Train.Seed)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if ctx.Err() != nil {
				return leg.BeforeAnything(ctx)
			}
			err := promptFits(m, c, t)
			if err == nil {
				err = agentBegins(ctx, create, t)
			}
			if err == nil {
				continue
			}
			distinct[err.Error()] = true
			if p, ok := errors.AsType[*problem.Problem](err); ok {
				p.Where = fmt.Sprintf("%s: row %s", set.File, t.ID)
			}
			if problems = append(problems, err); len(distinct) == leg.MaxProblems {
				return errors.Join(problems...)
			}
		}
	}
	return errors.Join(problems...)
}

// promptFits renders a task's prompt. An environment may show something else; then its session says so in time.
func promptFits(m *models.Model, c *recipe.Config, t agent.Task) error {
	o, err := m.Renderer.Prompt(chat.Conversation{Messages: t.Messages, Tools: t.Tools})
	if err != nil {
		return &problem.Problem{Code: problem.Template, What: err.Error(), Fix: "mend the row or the chat template", Err: err}
	}
	if n := len(o.IDs); n >= c.Rollout.MaxLen {
		return &problem.Problem{Code: problem.Data, What: fmt.Sprintf("the prompt has %d tokens and a rollout at most %d", n, c.Rollout.MaxLen), Fix: "shorten the row, or raise --rollout.max_len"}
	}
	return nil
}

// agentBegins asks an environment that can tell whether it can play a task.
func agentBegins(ctx context.Context, create func() agent.Env, t agent.Task) error {
	if create == nil {
		return nil // an agent of another kind: only playing tells
	}
	env := create()
	if env == nil {
		return nil // every rollout will say so
	}
	var err error
	if c, ok := env.(agent.Checker); ok {
		err = c.Check(ctx, t)
	}
	if err := errors.Join(err, env.Close()); err != nil {
		return &problem.Problem{Code: problem.Data, What: err.Error(), Fix: "mend the row, or name the key of its label with --data.label_key", Err: err}
	}
	return nil
}

// memory refuses a run that this machine cannot hold.
func (p *rlPlan) memory() error {
	m, err := leg.PlannedMemory(p.learned(), p.engine)
	if err != nil {
		return err
	}
	need := m.Learner() + m.Generator()
	for c, memory := range map[*companion]func(local.Memory) int64{p.others.reference: scorerMemory, p.others.critic: local.Memory.Learner} {
		if c == nil {
			continue
		}
		m, err := leg.PlannedMemory(c.shape, c.engine)
		if err != nil {
			return err
		}
		need += memory(m)
	}
	return leg.Fits(need, "train.max_tokens_per_micro_batch, rollout.max_len, engine.in_flight or engine.cache_mib")
}
