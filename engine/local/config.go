package local

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"molt/numeric/model"
	"molt/numeric/optim"
)

// numerics names the arithmetic that generator and learner share: float32, one order for every sum.
const numerics = "molt-f32-1"

// Config says how the embedded engine uses its machine and how it optimises. Only Optimizer, LoRA and Head
// change the result.
type Config struct {
	// Threads that compute, for the generator and for the learner each, the caller's included. 0 takes all cores. Idle ones
	// spin for a moment before they sleep, so where both compute at once, each should get a part of the cores.
	Threads int
	// Pages of KV, model.PageTokens tokens each. More keep more prefixes and let more requests run together; fewer make
	// requests wait, and be computed again. 0 takes enough for Running requests of full length, up to 256 MiB.
	Pages int
	// StepTokens is the most tokens that one step of the generator runs: one for each request that decodes, and prompts
	// with what is left. More read prompts faster and delay the others longer. At least Running.
	StepTokens int
	// Running is the most requests that run together.
	Running int
	// BatchTokens is the most tokens in one Forward of the learner; memory for activations grows with it. 0 takes 4096, or
	// the longest sequence if that is more.
	BatchTokens int
	// Optimizer says how the learner's parameters step; the learning rate comes with each step.
	Optimizer optim.Config
	// LoRA, where its Rank is not 0, trains an adapter over the weights in their place.
	LoRA LoRA
	// Head gives the value head an optimizer of its own, AdamW, and leaves it out of Weights: policy and critic share the
	// trunk. nil makes it a parameter like any other.
	Head *optim.Config
	// Copied is called once, when an engine has copied the weights that it starts from and before it fills the rest of its
	// memory: from then on it does not read them, and their owner may let go of them. nil does nothing.
	Copied func()
}

// Default is a configuration for models that train on one machine.
func Default() Config {
	return Config{
		StepTokens: 512,
		Running:    256,
		Optimizer:  optim.Default(),
	}
}

const (
	defaultPageBytes   = 256 << 20
	defaultBatchTokens = 4096
)

// resolve fills in what 0 leaves to the engine.
func (c Config) resolve(m model.Config) Config {
	if c.Threads == 0 {
		c.Threads = runtime.GOMAXPROCS(0)
	}
	if c.Pages == 0 {
		affordable := int(defaultPageBytes / max(model.KVBytes(m, 1), 1))
		c.Pages = max(min(c.Running*pagesFor(m.MaxPositions), affordable), leastPages(m))
	}
	if c.BatchTokens == 0 {
		c.BatchTokens = max(defaultBatchTokens, m.MaxPositions)
	}
	return c
}

// leastPages lets the longest request run alone.
func leastPages(m model.Config) int { return pagesFor(m.MaxPositions) }

func pagesFor(tokens int) int { return (tokens + model.PageTokens - 1) / model.PageTokens }

// Validate reports everything that is wrong with c for models of this shape, naming each field.
func (c Config) Validate(m model.Config) error {
	if err := m.Validate(); err != nil {
		return err
	}
	errs := []error{c.validateMachine(m)}
	params, head, err := c.trains(m)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	errs = append(errs, c.Optimizer.Validate(params))
	if c.LoRA.Rank > 0 && c.Optimizer.Name == "muon" {
		errs = append(errs, errors.New("local: LoRA steps with adam: Muon makes the step of a matrix orthogonal, and the factors of an adapter are none of the model's"))
	}
	if c.Head == nil {
		return errors.Join(errs...)
	}
	if c.Head.Name != "adam" {
		errs = append(errs, fmt.Errorf("local: Head.Name is %q; it must be adam", c.Head.Name))
	}
	return errors.Join(append(errs, c.Head.Validate(head))...)
}

// validateMachine checks what generators, scorers and learners share.
func (c Config) validateMachine(m model.Config) error {
	if err := m.Validate(); err != nil {
		return err
	}
	c = c.resolve(m)
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("local: "+format, args...))
		}
	}
	check(c.Threads >= 1 && c.Threads <= 1024, "Threads is %d; it must be between 1 and 1024, or 0 for all cores", c.Threads)
	check(c.Pages >= leastPages(m) && c.Pages <= math.MaxInt32, "Pages is %d; a request of %d tokens needs %d", c.Pages, m.MaxPositions, leastPages(m))
	check(c.Running >= 1, "Running is %d; it must be at least 1", c.Running)
	check(c.StepTokens >= c.Running, "StepTokens is %d; it must be at least Running, %d", c.StepTokens, c.Running)
	check(c.BatchTokens >= m.MaxPositions, "BatchTokens is %d; the longest sequence has %d", c.BatchTokens, m.MaxPositions)
	return errors.Join(errs...)
}
