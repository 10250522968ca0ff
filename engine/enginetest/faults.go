// How an engine reports what breaks around it: callers branch on the class of the error.

package enginetest

import (
	"errors"
	"path/filepath"

	"molt/engine"
)

var faultChecks = []Check{
	{"Fault/Unavailable", checkUnavailable},
	{"Fault/MissingLogp", checkMissingLogp},
	{"Fault/Lost", checkLost},
	{"Fault/LostMidPass", checkLostMidPass},
}

func checkUnavailable(c *checking) {
	s := c.generator()
	c.need(s.Faults.Unavailable != nil, "a way to be unavailable")
	r := c.request(s, 5, 4)
	s.Faults.Unavailable()
	reply, err := s.Generator.Generate(c.ctx, r, nil)
	if !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrLost) {
		c.Errorf("without a server: error %v; want ErrUnavailable", err)
	}
	if len(reply.Tokens) != 0 {
		c.Errorf("without a server: %d tokens; the call must do nothing", len(reply.Tokens))
	}
	c.generate(s, r)
}

func checkMissingLogp(c *checking) {
	s := c.generator()
	c.need(s.Faults.MissingLogp != nil, "a way to lose a log-prob")
	r := c.request(s, 5, 4)
	s.Faults.MissingLogp()
	_, err := s.Generator.Generate(c.ctx, r, nil)
	if err == nil || errors.Is(err, engine.ErrUnavailable) {
		c.Errorf("a reply that lacks a log-prob: error %v; want one that is not retried", err)
	}
	c.generate(s, r)
}

// checkLost kills a rank: every later call says so, and none hangs.
func checkLost(c *checking) {
	s := c.learner()
	c.need(s.Faults.LoseLearner != nil, "a way to lose the Learner")
	c.train(s)
	s.Faults.LoseLearner()
	dir := filepath.Join(c.TempDir(), "checkpoint")
	_, err := s.Learner.Forward(c.ctx, c.batch(s, 0), engine.Want{})
	c.wantLost(err, "Forward")
	_, err = s.Learner.Step(c.ctx, engine.StepOptions{LR: 1})
	c.wantLost(err, "Step")
	_, err = s.Learner.Weights(c.ctx)
	c.wantLost(err, "Weights")
	c.wantLost(s.Learner.Save(c.ctx, dir, []byte("{}")), "Save")
	_, err = s.Learner.Load(c.ctx, dir)
	c.wantLost(err, "Load")
}

func checkLostMidPass(c *checking) {
	s := c.learner()
	c.need(s.Faults.LoseLearner != nil, "a way to lose the Learner")
	b := c.batch(s, 0)
	pass := c.forward(s, b, engine.Want{Grad: true})
	s.Faults.LoseLearner()
	c.wantLost(pass.Backward(c.ctx, ones(len(b.Score)), nil, nil), "Backward")
	pass.Release()
	_, err := s.Learner.Step(c.ctx, engine.StepOptions{LR: 1})
	c.wantLost(err, "Step")
}

func (c *checking) wantLost(err error, doing string) {
	c.Helper()
	if !errors.Is(err, engine.ErrLost) {
		c.Errorf("%s of a lost learner: error %v; want ErrLost", doing, err)
	}
}
