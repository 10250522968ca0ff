package local

import (
	"molt/numeric/model"
	"molt/numeric/optim"
)

// Memory is what the embedded engine reserves, in bytes. Address space that is never touched, like pages of KV that no
// request reached, costs no memory.
type Memory struct {
	GeneratorWeights int64 // weights and the copies that products read
	KV               int64 // Config.Pages pages
	GeneratorWork    int64 // activations of a step

	LearnerWeights int64 // weights and the copies that products read, forward and backward
	Gradients      int64
	Moments        int64 // of the optimizer, and its room to work in
	Activations    int64 // of Config.BatchTokens tokens, kept for the backward
}

// Plan says what a generator and a learner of models of this shape will reserve.
func Plan(shape model.Config, config Config) (Memory, error) {
	if err := config.Validate(shape); err != nil {
		return Memory{}, err
	}
	config = config.resolve(shape)
	return Memory{
		GeneratorWeights: model.ModelBytes(shape, false),
		KV:               model.KVBytes(shape, config.Pages),
		GeneratorWork:    model.WorkBytes(shape, config.Threads, config.stepBudget()) + 4*int64(config.Running)*int64(shape.Vocab),
		LearnerWeights:   model.ModelBytes(shape, true),
		Gradients:        model.GradsBytes(shape),
		Moments:          optim.Bytes(trained(model.Layout(shape), nil), config.Optimizer, config.Threads),
		Activations:      model.WorkBytes(shape, config.Threads, config.batchBudget()),
	}, nil
}

// Generator is the generator's part.
func (m Memory) Generator() int64 { return m.GeneratorWeights + m.KV + m.GeneratorWork }

// Learner is the learner's part.
func (m Memory) Learner() int64 {
	return m.LearnerWeights + m.Gradients + m.Moments + m.Activations
}

// stepBudget is what a step of the generator may hold, batchBudget a pass of the learner.
func (c Config) stepBudget() model.Budget {
	return model.Budget{Tokens: c.StepTokens, Score: c.Running}
}

func (c Config) batchBudget() model.Budget {
	return model.Budget{Tokens: c.BatchTokens, Grad: true}
}
