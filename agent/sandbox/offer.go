// An environment whose policy may also run programs.

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"molt/agent"
	"molt/chat"
)

// Settings are those of an agent that offers a box: the limits are the original's.
type Settings struct {
	Language    string  `yaml:"language" help:"what the policy writes: python, sh or starlark (a small Python without imports, kept apart everywhere)"`
	Isolation   string  `yaml:"isolation" help:"what keeps python and sh apart: bubblewrap (namespaces, no network, no home folders), or limits, which keep nothing apart; without it bubblewrap must work"`
	Interpreter string  `yaml:"interpreter" help:"the Python that runs programs; without one python3"`
	Time        float64 `yaml:"timeout" help:"longest a program may run" unit:"s" range:"(0,3600]"`
	MemoryMiB   int     `yaml:"memory_mib" help:"address space of each of its processes" unit:"MiB" range:"[64,1000000]"`
	Processes   int     `yaml:"processes" help:"processes that it may have at once, where this machine can bound that (molt doctor)" range:"[8,100000]"`
	Output      int     `yaml:"output" help:"characters of each of its two streams that the policy reads" range:"[1,1000000]"`
}

// DefaultSettings are the limits of the original's Python tool.
func DefaultSettings() Settings {
	c := Defaults()
	return Settings{Language: string(c.Language), Time: c.Time.Seconds(), MemoryMiB: int(c.Memory >> 20), Processes: c.Processes, Output: c.Output}
}

// Open makes the box, and refuses what this machine cannot keep apart unless that was asked for.
func (s Settings) Open(ctx context.Context) (*Box, error) {
	c := Defaults()
	c.Language, c.Isolation, c.Interpreter, c.Processes, c.Output = Language(s.Language), Isolation(s.Isolation), s.Interpreter, s.Processes, s.Output
	c.Time, c.Memory = time.Duration(s.Time*float64(time.Second)), int64(s.MemoryMiB)<<20
	if c.Isolation == "" {
		if c.Isolation = Bubblewrap; c.Language == StarlarkLanguage {
			c.Isolation = Starlark
		}
	}
	b, err := New(c)
	if err != nil {
		return nil, err
	}
	if err := Probe(ctx, c.Isolation); err != nil {
		return nil, fmt.Errorf("%w; choose the language %s, or the isolation %s and accept what it does not keep apart", err, StarlarkLanguage, Limits)
	}
	return b, nil
}

// Offer adds the box to the tools of an environment. A reply that calls it is answered; any other is the environment's.
func (b *Box) Offer(create func() agent.Env) func() agent.Env {
	return func() agent.Env { return &offered{Env: create(), box: b} }
}

type offered struct {
	agent.Env
	box     *Box
	called  float64 // programs so far
	crashed float64 // that ended with an exit code or at their time
}

// Check implements agent.Checker for an environment that does.
func (o *offered) Check(ctx context.Context, task agent.Task) error {
	if c, ok := o.Env.(agent.Checker); ok {
		return c.Check(ctx, task)
	}
	return nil
}

// Reset implements agent.Env.
func (o *offered) Reset(ctx context.Context, task agent.Task) (agent.Start, error) {
	start, err := o.Env.Reset(ctx, task)
	spec := o.box.Spec()
	for _, tool := range start.Tools {
		if tool.Name == spec.Name && err == nil {
			err = fmt.Errorf("sandbox: the task has a tool %s of its own", spec.Name)
		}
	}
	start.Tools = append(start.Tools[:len(start.Tools):len(start.Tools)], spec)
	return start, err
}

// Step implements agent.Env.
func (o *offered) Step(ctx context.Context, a agent.Action) (agent.Result, error) {
	calls := a.Message.ToolCalls
	if len(calls) == 0 {
		result, err := o.Env.Step(ctx, a)
		return o.counted(result), err
	}
	var r agent.Result
	for _, call := range calls {
		answer, err := o.answer(ctx, call)
		if err != nil {
			return r, err
		}
		r.Observation = append(r.Observation, answer)
	}
	return o.counted(r), nil
}

// answer runs a call. One for which the step has no time left is not begun: its program would end the rollout ungraded.
func (o *offered) answer(ctx context.Context, call chat.ToolCall) (chat.Message, error) {
	said := func(text string) (chat.Message, error) {
		return chat.Message{Role: chat.Tool, Content: text, ToolCallID: call.ID, Name: call.Name}, nil
	}
	end, bounded := ctx.Deadline()
	switch {
	case call.Name != o.box.Spec().Name:
		return said(fmt.Sprintf("error: no tool is called %q", call.Name))
	case bounded && time.Until(end) < o.box.config.Time+slack:
		if o.called == 0 {
			return chat.Message{}, errors.New("sandbox: a step has no time for a program; raise agent.step_timeout above its timeout")
		}
		return said("error: no time is left for this call; make fewer at once")
	}
	o.called++
	answer, outcome, err := o.box.run(ctx, call)
	if outcome.Code != 0 || outcome.TimedOut {
		o.crashed++
	}
	return answer, err
}

// slack is what starting and ending a program may take besides its time.
const slack = 2 * time.Second

// counted adds the numbers of programs to those of the environment.
func (o *offered) counted(r agent.Result) agent.Result {
	info := map[string]float64{"programs": o.called, "programs_failed": o.crashed}
	for name, value := range r.Info {
		info[name] = value
	}
	r.Info = info
	return r
}
