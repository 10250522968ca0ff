// The models of a run besides the policy: what it is compared with or taught by, and its critic.

package run

import (
	"fmt"

	"molt/engine"
	"molt/engine/local"
	"molt/numeric/model"
	"molt/numeric/optim"
	"molt/run/leg"
	"molt/run/models"
	"molt/run/problem"
	"molt/train"
)

// companion is one of them, checked and ready to be loaded.
type companion struct {
	path    string
	shape   model.Config
	weights engine.Weights
	engine  local.Config
}

// companions are nil where the run has no such model.
type companions struct {
	reference *companion // never changes
	critic    *companion
}

// companions opens and checks the models besides the policy.
func (p *rlPlan) companions() (err error) {
	if p.cfg.Compares() {
		if p.others.reference, err = p.companion("ref.model_name_or_path", p.cfg.Ref.Path); err != nil {
			return err
		}
		if p.cfg.Distils() && p.others.reference.weights.Fingerprint == p.model.Weights.Fingerprint {
			return &problem.Problem{Code: problem.Combined, Where: "ref.model_name_or_path", What: "the teacher has the weights that training starts from, so it teaches nothing", Fix: "name another model"}
		}
	}
	if err := p.criticSchedule(); err != nil || !p.cfg.Criticises() || p.cfg.SharesTrunk() {
		return err
	}
	critic, err := p.companion("critic.model_name_or_path", p.cfg.Critic.Path)
	if err != nil {
		return err
	}
	critic.shape, critic.weights = local.AddValueHead(critic.shape, critic.weights)
	critic.engine.Optimizer = leg.Optimizer(p.cfg.Critic.OptimConfig)
	if err := leg.Usable("critic.", critic.engine, critic.shape); err != nil {
		return err
	}
	p.others.critic = critic
	return nil
}

func (p *rlPlan) criticSchedule() error {
	if !p.cfg.Criticises() {
		return nil
	}
	if err := leg.Schedule(p.cfg.Critic.OptimConfig, p.criticUpdates()).Validate(); err != nil {
		return &problem.Problem{Code: problem.Setting, Where: "critic.lr_scheduler", What: err.Error(), Fix: "shorten the warm-up or take more steps", Err: err}
	}
	return nil
}

// companion is the policy's own model, or another one that reads the same tokens.
func (p *rlPlan) companion(setting, path string) (*companion, error) {
	m := p.model
	if path != "" {
		var err error
		if m, err = models.Open(path); err != nil {
			return nil, err
		}
		if err := sameVocabulary(p.model, m); err != nil {
			return nil, &problem.Problem{Code: problem.Tokenizer, Where: setting, What: err.Error(), Fix: "choose a model with the policy's tokenizer"}
		}
		p.inputs[setting] = m.Weights.Fingerprint
	}
	c := &companion{path: m.Path, shape: m.Shape, weights: local.Merge(m.Weights), engine: p.engine}
	if p.shape.MaxPositions > c.shape.MaxPositions {
		return nil, &problem.Problem{Code: problem.Setting, Where: setting, What: fmt.Sprintf("rollout.max_len is %d and this model sees at most %d tokens", p.shape.MaxPositions, c.shape.MaxPositions), Fix: "lower rollout.max_len"}
	}
	c.shape.MaxPositions = p.shape.MaxPositions
	c.engine.Optimizer = optim.Default() // the policy's may name parameters that this model does not have
	c.engine.LoRA, c.engine.Head = local.LoRA{}, nil
	return c, c.engine.Validate(c.shape)
}

// sameVocabulary refuses a model that reads other tokens than the policy: it would be asked about ids that mean something
// else to it.
func sameVocabulary(policy, other *models.Model) error {
	for id := range int32(max(policy.Tok.VocabSize(), other.Tok.VocabSize())) {
		if ours, theirs := policy.Tok.Token(id), other.Tok.Token(id); ours != theirs {
			return fmt.Errorf("%s has another vocabulary than the policy: id %d is %q and not %q", other.Path, id, theirs, ours)
		}
	}
	if other.Shape.Vocab < policy.Shape.Vocab {
		return fmt.Errorf("%s has a vocabulary of %d and the policy one of %d: it does not know all ids that may be sampled", other.Path, other.Shape.Vocab, policy.Shape.Vocab)
	}
	return nil
}

// criticEpochs is how often the critic is trained on each batch.
func (p *rlPlan) criticEpochs() int {
	if p.cfg.Critic.MaxEpochs > 0 {
		return p.cfg.Critic.MaxEpochs
	}
	return p.cfg.Train.MaxEpochs
}

// criticUpdates counts the critic's optimizer steps in the whole run. One that shares the policy's trunk takes criticEpochs only while the policy is frozen, and the policy's afterwards.
func (p *rlPlan) criticUpdates() int64 {
	if p.cfg.SharesTrunk() {
		return int64(p.cfg.Actor.Freezing*p.miniBatches()*p.criticEpochs()) + p.updates
	}
	return p.steps * int64(p.miniBatches()*p.criticEpochs())
}

func (p *rlPlan) criticConfig() train.CriticConfig {
	c := p.cfg.Critic
	return train.CriticConfig{MaxEpochs: p.criticEpochs(), MaxNorm: c.MaxNorm, LR: leg.Schedule(c.OptimConfig, p.criticUpdates()).At, Warmup: int64(p.cfg.Actor.Freezing)}
}
