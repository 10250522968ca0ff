// What a dry run says of fine-tuning.

package finetune

import (
	"context"
	"fmt"

	"molt/engine/local"
	"molt/internal/spell"
	"molt/run/leg"
	"molt/run/recipe"
)

// Plan says what `molt sft` would do.
func Plan(ctx context.Context, cfg *recipe.SFTConfig) (*leg.Plan, error) {
	s, err := preflight(ctx, cfg, leg.View{}.Lines())
	if err != nil {
		return nil, err
	}
	m, err := local.Plan(s.shape, s.engine)
	if err != nil {
		return nil, err
	}
	p := &leg.Plan{
		Command: "sft", Model: s.model.Path, Parameters: int64(s.shape.ParamCount()), Conversations: len(s.examples), Steps: s.steps, Updates: s.steps,
		StepTokens: int64(cfg.Train.BatchSize) * int64(cfg.Data.MaxLen),
	}
	p.Add("weights as read", 4*p.Parameters)
	p.Trained = m.Trained
	p.Seconds, p.Notes = s.effort().Seconds(), s.notes()
	if a, warns := s.defaultRate(); warns {
		p.Notes = append(p.Notes, a.Sentence+"; "+a.Fix)
	}
	p.AddLearner(m)
	p.AddWrites(cfg.Ckpt.Path,
		"{config.yaml,run.json,events.jsonl,report.html}",
		fmt.Sprintf("checkpoints/ (at most %d of %s)", cfg.Ckpt.MaxNum, spell.MiB(12*m.Trained)),
		"final/ ("+leg.Exports(cfg.Model.LoRA, cfg.Ckpt.DType)+")")
	return p, nil
}

func (p *plan) effort() leg.Effort {
	tokens := 0
	for _, e := range p.examples {
		tokens += len(e.Tokens)
	}
	each := float64(tokens) / float64(len(p.examples))
	e := leg.Effort{Parameters: int64(p.shape.ParamCount()), Trained: int64(each * float64(p.steps) * float64(p.cfg.Train.BatchSize)), Threads: p.cfg.Engine.Threads}
	evaluations := int64(1)
	if p.cfg.Eval.Steps > 0 {
		evaluations += p.steps / int64(p.cfg.Eval.Steps)
	}
	for _, h := range p.heldOut {
		e.Scored += evaluations * int64(len(h.Tokens))
	}
	return e
}
