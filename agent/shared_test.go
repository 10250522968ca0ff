package agent

import (
	"context"
	"strings"
	"testing"

	"molt/chat"
	"molt/traj"
)

func TestRunnerIsSharedByRollouts(t *testing.T) {
	runner := &EnvRunner{Config: Defaults(), New: newWorldEnv,
		Open: func(job Job) (Policy, error) {
			return NewScripted(strings.Split(strings.Repeat("x ", job.Sample+1), " ")...), nil
		}}
	runner.Config.Turns = 8
	results := make(chan *traj.Rollout)
	for sample := range 64 {
		go func() { results <- runner.Run(t.Context(), Job{Sample: sample}) }()
	}
	for range 64 {
		r := <-results
		if want := float64(min(r.Sample+2, 8)); r.Outcome != traj.Truncated || r.Reward != want {
			t.Errorf("sample %d: %s with reward %v; want %v", r.Sample, r.Outcome, r.Reward, want)
		}
	}
}

// What an environment does with its map afterwards changes nothing.
func TestInfoIsCopied(t *testing.T) {
	w, info := newWorld(), map[string]float64{"steps": 1}
	w.step = at(0, returns(Result{Terminated: true, Info: info}, nil))
	w.close = func() error { info["steps"] = 9; return nil }
	got := runnerOf(w, &session{Scripted: NewScripted("a")}).Run(t.Context(), Job{})
	if got.Info["steps"] != 1 {
		t.Errorf("info %v", got.Info)
	}
}

// BenchmarkTurn measures what the framework adds to one turn of a trivial environment and policy.
func BenchmarkTurn(b *testing.B) {
	const turns = 16
	reply := chat.Reply{Message: chat.Message{Role: chat.Assistant, Content: "x"}, Text: "x", Finish: traj.FinishStop}
	runner := &EnvRunner{Config: Defaults(), New: newWorldEnv, Open: func(Job) (Policy, error) { return &constant{reply: reply}, nil }}
	runner.Config.Turns = turns
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n += runner.Run(b.Context(), Job{}).Turns()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/turn")
}

// constant is a policy that costs nothing.
type constant struct {
	reply chat.Reply
	nodes [32]traj.Node
	n     int
}

func (c *constant) Begin([]chat.Message, []chat.ToolSpec) error { return nil }
func (c *constant) Turn(context.Context, []chat.Message) (chat.Reply, error) {
	c.n++
	return c.reply, nil
}
func (c *constant) Nodes() []traj.Node { return c.nodes[:c.n] }
func (c *constant) Close() error       { return nil }
