package local

import (
	"molt/numeric/model"
	"molt/numeric/optim"
)

// Memory is what the embedded engine reserves, in bytes. Address space that is never touched, like pages of KV that no
// request reached, costs no memory.
type Memory struct {
	GeneratorWeights int64 // weights and the copies that products read; with LoRA also the base of what is adapted, and the factors
	KV               int64 // Config.Pages pages
	GeneratorWork    int64 // activations of a step

	LearnerWeights int64 // weights and the copies that products read, forward and backward; with LoRA also the factors
	Gradients      int64 // of every weight, adapted or not: those of the factors follow from them
	Moments        int64 // of the optimizer, and its room to work in
	Activations    int64 // of Config.BatchTokens tokens, kept for the backward

	Trained int64 // numbers that a learner may change, those that Optimizer freezes included: what a checkpoint holds, with moments

	Scorer int64 // all of a scorer: weights, and activations of Config.BatchTokens tokens in one layer
}

// Plan says what a generator, a learner and a scorer of models of this shape will reserve.
func Plan(shape model.Config, config Config) (Memory, error) {
	if err := config.Validate(shape); err != nil {
		return Memory{}, err
	}
	config = config.resolve(shape)
	params, head, err := config.trains(shape)
	if err != nil {
		return Memory{}, err
	}
	served := shape
	served.ValueHead = shape.ValueHead && config.Head == nil
	m := Memory{
		GeneratorWeights: model.ModelBytes(served, false),
		KV:               model.KVBytes(shape, config.Pages),
		GeneratorWork:    model.WorkBytes(shape, config.Threads, config.stepBudget()) + 4*int64(config.Running)*int64(shape.Vocab),
		LearnerWeights:   model.ModelBytes(shape, true),
		Gradients:        model.GradsBytes(shape),
		Moments:          optim.Bytes(params, config.Optimizer, config.Threads),
		Activations:      model.WorkBytes(shape, config.Threads, config.batchBudget()),
		Scorer:           model.ModelBytes(served, false) + model.WorkBytes(shape, config.Threads, config.scoreBudget()),
	}
	if config.Head != nil {
		m.Moments += optim.Bytes(head, *config.Head, config.Threads)
	}
	for _, p := range append(params, head...) {
		m.Trained += elements(p.Shape)
	}
	if config.LoRA.Rank > 0 {
		m.GeneratorWeights += config.adapterBytes(shape, false)
		m.LearnerWeights += config.adapterBytes(shape, true)
	}
	return m, nil
}

// adapterBytes is what an adapter takes beside the weights.
func (c Config) adapterBytes(shape model.Config, grads bool) int64 {
	layout := model.Layout(shape)
	names, _ := c.LoRA.names(layout)
	return 4 * int64(adaptationFloats(layout, names, c.LoRA.Rank, c.Threads, grads))
}

func elements(shape []int) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= int64(d)
	}
	return n
}

// Generator is the generator's part.
func (m Memory) Generator() int64 { return m.GeneratorWeights + m.KV + m.GeneratorWork }

// Learner is the learner's part.
func (m Memory) Learner() int64 {
	return m.LearnerWeights + m.Gradients + m.Moments + m.Activations
}

// stepBudget is what a step of the generator may hold, batchBudget a pass of the learner, scoreBudget one of a scorer.
func (c Config) stepBudget() model.Budget {
	return model.Budget{Tokens: c.StepTokens, Score: c.Running}
}

func (c Config) batchBudget() model.Budget {
	return model.Budget{Tokens: c.BatchTokens, Grad: true}
}

func (c Config) scoreBudget() model.Budget { return model.Budget{Tokens: c.BatchTokens} }
