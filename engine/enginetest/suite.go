// One check for each promise. A check makes its own fresh engines, so that none depends on what another left behind; it
// closes them at the end and fails when a goroutine is left. An engine that lacks a part, or a harness that lacks a hook,
// skips the checks that need it, visibly.

package enginetest

import (
	"context"
	"runtime"
	"testing"
	"time"

	"molt/engine"
)

// Run checks the engines of the factory, each check as a subtest.
func Run(t *testing.T, factory Factory) {
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, factory) })
	}
}

// Factory makes an engine under test. Every call makes an equal one: the same weights, version and settings. What else it
// starts it ends with t.Cleanup.
type Factory func(t testing.TB) Subject

// Subject is an engine under test. Any part may be nil.
type Subject struct {
	Generator engine.Generator
	Learner   engine.Learner
	Sink      engine.WeightSink // of the Generator; serves the Learner's weights from the start

	// Tolerance is how far two computations of one log-prob may lie apart, in nats: by the Generator and the Learner, or
	// alone and in a batch. 0 demands equal bits.
	Tolerance float64

	Fingerprint func(engine.Weights) string // how the engine's fingerprints are made; lets the suite make weights of its own
	Probe       Probe                       // of the Learner
	Faults      Faults
}

// Probe reaches the numbers of a Learner that the contracts hide, for finite differences.
type Probe interface {
	Gradient(tensor string, index int) float64 // accumulated so far
	SetWeight(tensor string, index int, value float32)
}

// Faults breaks the engine's surroundings on demand. Each may be nil.
type Faults struct {
	Unavailable func() // the next Generate finds no server (a 503, a refused connection)
	MissingLogp func() // the next reply lacks the log-prob of its last id
	LoseLearner func() // a rank of the Learner dies
}

// Check is one promise of the contracts.
type Check struct {
	Name string // Part/Promise
	run  func(c *checking)
}

// Checks lists the suite, in the order of the contracts.
func Checks() []Check {
	var all []Check
	for _, group := range [][]Check{generatorChecks, samplingChecks, constraintChecks, shapeChecks, cancelChecks, sinkChecks, learnerChecks, stepChecks, gradientChecks, laneChecks, agreeChecks, faultChecks} {
		all = append(all, group...)
	}
	return all
}

// Run makes the check, and fails when the engines leave goroutines behind.
func (k Check) Run(t testing.TB, factory Factory) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() { noneLeft(t, before) })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	k.run(&checking{TB: t, ctx: ctx, factory: factory})
}

// noneLeft fails when more goroutines run than before. Some need a moment to end after what they served has returned.
func noneLeft(t testing.TB, before int) {
	for deadline := time.Now().Add(time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Errorf("%d goroutines outlive Close:\n%s", runtime.NumGoroutine()-before, stacks[:runtime.Stack(stacks, true)])
			return
		}
	}
}

// checking is a check while it runs.
type checking struct {
	testing.TB
	ctx     context.Context // ends a check that hangs
	factory Factory
}

// subject makes a fresh engine that the end of the check closes.
func (c *checking) subject() Subject {
	s := c.factory(c.TB)
	c.Cleanup(func() {
		if s.Generator != nil {
			c.noError(s.Generator.Close(), "closing the generator")
		}
		if s.Learner != nil {
			c.noError(s.Learner.Close(), "closing the learner")
		}
	})
	return s
}

func (c *checking) generator() Subject {
	c.Helper()
	s := c.subject()
	c.need(s.Generator != nil, "a Generator")
	return s
}

func (c *checking) learner() Subject {
	c.Helper()
	s := c.subject()
	c.need(s.Learner != nil, "a Learner")
	return s
}

func (c *checking) both() Subject {
	c.Helper()
	s := c.subject()
	c.need(s.Generator != nil && s.Learner != nil && s.Sink != nil, "a Generator, a WeightSink and a Learner")
	return s
}

// need skips the check when the subject cannot be asked.
func (c *checking) need(have bool, what string) {
	c.Helper()
	if !have {
		c.Skipf("the subject has not %s", what)
	}
}

func (c *checking) noError(err error, doing string) {
	c.Helper()
	if err != nil {
		c.Fatalf("%s: %v", doing, err)
	}
}

func (c *checking) wantError(err error, doing string) {
	c.Helper()
	if err == nil {
		c.Fatalf("%s: no error", doing)
	}
}
