// Sessions over HTTP. Each rollout has one, on this machine's loopback; what it captured comes back as nodes.

package doors

import (
	"context"
	"errors"
	"fmt"
	"net"

	"molt/agent"
	"molt/engine"
	"molt/gateway/capture"
	"molt/gateway/forest"
	"molt/gateway/serve"
	"molt/traj"
)

// modelName is what replies carry.
const modelName = "policy"

// server holds one gateway for training and one for evaluation: they sample differently.
type server struct {
	agent    *Agent
	gateways [2]*capture.Gateway
	address  [2]string
	cancel   context.CancelFunc
	running  int        // servers
	done     chan error // capacity 2: what each of them returned
}

// serve starts both servers. close ends them.
func (a *Agent) serve(g engine.Generator) (*server, error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{agent: a, cancel: cancel, done: make(chan error, 2)}
	for i := range s.gateways {
		c := capture.Defaults()
		c.Generator, c.Renderer, c.Family, c.Model = g, a.config.Model.Renderer, a.config.Model.Family, modelName
		c.Mode, c.Policy = capture.Mode(a.config.Agent.Capture.Mode), capture.Policy(a.config.Agent.Capture.Sampling)
		c.Sampling, c.MaxTokens = a.config.Sampling(i == 1), a.config.MaxLen
		if err := s.begin(ctx, i, c); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *server) begin(ctx context.Context, i int, c capture.Config) error {
	gate, err := capture.New(c)
	if err != nil {
		return err
	}
	s.gateways[i] = gate
	front, err := serve.New(serve.Config{Gateway: gate})
	if err != nil {
		return err
	}
	listener, err := serve.Listen("127.0.0.1:0", "", nil)
	if err != nil {
		return err
	}
	s.address[i] = "http://127.0.0.1:" + fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	s.running++
	go func() { s.done <- front.Serve(ctx, listener) }()
	return nil
}

func (s *server) unparsed() string { return s.gateways[0].Counts().Alarm() }

func (s *server) close() error {
	s.cancel()
	var errs []error
	for range s.running {
		errs = append(errs, <-s.done)
	}
	for _, g := range s.gateways {
		if g != nil {
			errs = append(errs, g.Close())
		}
	}
	return errors.Join(errs...)
}

// connect opens the session of a rollout.
func (s *server) connect(job agent.Job, l Limits) (agent.Endpoint, error) {
	which := 0
	if job.Eval {
		which = 1
	}
	c := s.agent.config
	session, err := s.gateways[which].Open(capture.Options{Seed: c.Seed, Group: job.Group, Sample: job.Sample, Attempt: job.Attempt, MaxTokens: tighter(c.MaxLen, l.Tokens)})
	if err != nil {
		return nil, err
	}
	address := agent.Address{Session: session.ID, URL: s.address[which] + "/s/" + session.Key, Key: session.Key, Model: modelName}
	return &endpoint{Session: session, agent: s.agent, address: address}, nil
}

// endpoint is a rollout's session. Close ends it; what it captured stays.
type endpoint struct {
	*capture.Session
	agent   *Agent
	address agent.Address
}

// Address implements agent.Endpoint.
func (e *endpoint) Address() agent.Address { return e.address }

// Nodes implements agent.Endpoint: the turns that train; others that they stand on are observation.
func (e *endpoint) Nodes() []traj.Node { return e.Select(e.agent.trains) }

// trains reports whether a turn is to be learned from: its reply was accepted, and its kind is wanted.
func (a *Agent) trains(n capture.Node) bool {
	c := a.config.Agent.Capture
	switch {
	case n.Fate != forest.Accepted || n.Agent.Kind == forest.Judge:
		return false
	case n.Kind == capture.Background:
		return c.Background
	case n.Kind == capture.SubAgent:
		return c.SubAgents
	}
	return true
}
