// An agent is opened twice: before a run begins, so that what is wrong with it is a sentence and not a thousand failed rollouts,
// and again when there is a generator to talk to.

package doors

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"molt/agent"
	"molt/agent/command"
	"molt/agent/judge"
	"molt/agent/python"
	"molt/chat"
	"molt/engine"
	"molt/gateway"
	"molt/internal/child"
	files "molt/python"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
)

// Config is what an agent is opened with.
type Config struct {
	Agent    *recipe.AgentConfig
	Model    *models.Model
	Sampling func(eval bool) engine.Sampling
	Seed     uint64
	MaxLen   int                    // tokens of a rollout
	Env      func() agent.Env       // makes the environments of agent.name; nil for another agent
	Chat     func() agent.ChatAgent // makes the chat agents of agent.name; nil for another agent
	Log      *Log                   // what agents print
}

// Agent is an opened agent.
type Agent struct {
	config  Config
	folder  string       // holds the files of a hub; "" for none
	pool    *python.Pool // of a Python file
	kind    python.Kind  // of it
	command *command.Config

	inside *gateway.Gateway // for environments and literal text
	wrap   func(agent.Opener) agent.Opener
	server *server // for agents that talk HTTP
}

// Open checks everything about the agent that can be known without a policy. Close it in the end.
func Open(ctx context.Context, c Config) (*Agent, error) {
	a := &Agent{config: c}
	var err error
	switch {
	case c.Agent.IsPython():
		err = a.openPython(ctx)
	case c.Agent.IsProgram():
		err = a.openProgram()
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *Agent) openPython(ctx context.Context) error {
	c := a.config.Agent
	p := python.Defaults()
	p.File, p.Python, p.Processes, p.Recycle, p.Log = c.Path, c.Python.Interpreter, c.Python.Processes, c.Python.Recycle, a.config.Log
	p.Start, p.Trace = seconds(c.Python.Start), a.config.Log.Trace
	p.MaxLength, p.Sampling = a.config.MaxLen, a.sampling()
	p.Render = a.rendered
	if name, hub := strings.CutPrefix(c.Path, "hub:"); hub {
		at, err := a.hubFile(name)
		if err != nil {
			return err
		}
		p.File = at
	}
	pool, kind, err := python.Open(ctx, p)
	if err != nil {
		refused := &problem.Problem{Code: problem.Setting, Where: "agent.path", What: "the agent's file cannot be used", Why: err.Error(), Fix: "mend it, or name another Python with agent.python.interpreter", Err: err}
		if raised, ok := errors.AsType[*python.Raised](err); ok {
			refused.Text = raised.Traceback
		}
		if _, missing := os.Stat(p.File); missing != nil {
			refused.Fix = "check the path"
		}
		return refused
	}
	a.pool, a.kind = pool, kind
	return nil
}

// hubFile writes the file of a hub where Python can read it.
func (a *Agent) hubFile(name string) (string, error) {
	data, err := files.Files.ReadFile("molt/hubs/" + name + ".py")
	if err != nil || strings.HasPrefix(name, "_") || name == "rows" {
		return "", &problem.Problem{Code: problem.Setting, Where: "agent.path", What: fmt.Sprintf("no hub is called %q", name), Fix: "there are hub:reasoning_gym and hub:verifiers"}
	}
	if a.folder, err = os.MkdirTemp("", "molt-hub-"); err == nil {
		err = os.WriteFile(filepath.Join(a.folder, name+"_hub.py"), data, 0o600)
	}
	if err != nil {
		return "", &problem.Problem{Code: problem.Resource, What: "cannot write the hub's file", Why: err.Error(), Fix: "make room in the folder for temporary files", Err: err}
	}
	return filepath.Join(a.folder, name+"_hub.py"), nil
}

// rendered is a task's prompt as the chat template shows it.
func (a *Agent) rendered(t agent.Task) (string, error) {
	o, err := a.config.Model.Renderer.Prompt(chat.Conversation{Messages: t.Messages, Tools: t.Tools})
	return a.config.Model.Tok.Decode(o.IDs), err
}

// sampling is the run's own, as agents are told.
func (a *Agent) sampling() agent.Sampling {
	s := a.config.Sampling(false)
	return agent.Sampling{Temperature: float64(s.Temperature), TopP: float64(s.TopP), TopK: s.TopK, MaxTokens: s.MaxTokens}
}

func (a *Agent) openProgram() error {
	c := a.config.Agent
	p := command.Defaults()
	install := "install it, or mend the command"
	p.Command, p.Stdin, p.Workspace, p.Inherit, p.Keep = c.Command, c.Program.Stdin, c.Program.Workspace, c.Program.Inherit, c.Program.Keep
	p.Log = a.config.Log
	p.Limits = child.Limits{Memory: int64(c.Program.MemoryMiB) << 20, CPU: int64(c.Program.CPU), FileSize: int64(c.Program.FileMiB) << 20, OpenFiles: int64(c.Program.Files)}
	if c.Preset != "" {
		preset, err := command.FindPreset(c.Preset)
		if err != nil {
			return &problem.Problem{Code: problem.Setting, Where: "agent.preset", What: err.Error(), Fix: "choose one of them, or write its command yourself with agent.command"}
		}
		preset.Apply(&p)
		install = preset.Install
	}
	from, err := gradedBy(&c.Reward)
	if err != nil {
		return err
	}
	p.Reward = from
	if err := p.Validate(); err != nil {
		return &problem.Problem{Code: problem.Setting, Where: "agent", What: err.Error(), Fix: "mend the settings", Err: err}
	}
	if err := command.Startable(p); err != nil {
		return &problem.Problem{Code: problem.Resource, Where: "agent", What: "the program cannot be started", Why: err.Error(), Fix: install, Err: err}
	}
	a.command = &p
	return nil
}

func gradedBy(c *recipe.GradeConfig) (command.Reward, error) {
	r := command.Reward{From: command.Source(c.From), Grader: c.Grader, URL: c.URL, Limit: seconds(c.Limit)}
	if r.From != command.FromJudge {
		return r, nil
	}
	r.Judge = judge.Defaults()
	r.Judge.URL, r.Judge.Model, r.Judge.Limit = c.Judge.URL, c.Judge.Model, r.Limit
	if c.Judge.KeyVar != "" {
		if r.Judge.Key = os.Getenv(c.Judge.KeyVar); r.Judge.Key == "" {
			return r, &problem.Problem{Code: problem.Setting, Where: "agent.reward.judge.key_variable", What: fmt.Sprintf("the variable %s is empty", c.Judge.KeyVar), Fix: "set it"}
		}
	}
	if c.Judge.Rubric != "" {
		text, err := os.ReadFile(c.Judge.Rubric)
		if err != nil {
			return r, &problem.Problem{Code: problem.Setting, Where: "agent.reward.judge.rubric", What: "cannot read the rubric", Why: problem.Reason(err), Fix: "check the path", Err: err}
		}
		r.Judge.Rubric = string(text)
	}
	return r, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Log is where the agent prints to.
func (a *Agent) Log() *Log { return a.config.Log }

// Env makes the environments of agent.name; nil when the agent is another.
func (a *Agent) Env() func() agent.Env { return a.config.Env }

// Start gives the agent a policy to talk to. wrap, which may be nil, goes around sessions in this process.
func (a *Agent) Start(g engine.Generator, wrap func(agent.Opener) agent.Opener) (err error) {
	a.wrap = wrap
	if a.overHTTP() {
		a.server, err = a.serve(g)
	} else {
		a.inside, err = gateway.New(gateway.Config{Generator: g, Renderer: a.config.Model.Renderer, Family: a.config.Model.Family, MaxTokens: a.config.MaxLen})
	}
	if err != nil {
		return &problem.Problem{Code: problem.Template, Where: a.config.Model.Path, What: err.Error(), Fix: "choose another model", Err: err}
	}
	return nil
}

func (a *Agent) overHTTP() bool {
	return a.command != nil || a.kind == python.KindChat || a.config.Chat != nil
}

// Limits bound one rollout more tightly than the settings do. A zero leaves a bound as it is.
type Limits struct {
	Turns  int // replies of the policy; not for agents that own their loop
	Tokens int // shown and sampled
}

// OwnsLoop reports whether the agent asks the policy as often as it likes.
func (a *Agent) OwnsLoop() bool { return a.overHTTP() }

// Runner runs rollouts of the agent, which must have been started.
func (a *Agent) Runner() agent.Runner { return a.Limited(Limits{}) }

// Limited is Runner with tighter limits.
func (a *Agent) Limited(l Limits) agent.Runner {
	switch {
	case a.command != nil:
		return a.chatRunner(command.New(*a.command), l)
	case a.kind == python.KindChat:
		return a.chatRunner(a.pool.ChatAgent, l)
	case a.config.Chat != nil:
		return a.chatRunner(a.config.Chat, l)
	case a.kind == python.KindEnv:
		return a.envRunner(a.pool.Env, a.openText, l)
	}
	return a.envRunner(a.config.Env, a.openInside, l)
}

func (a *Agent) envRunner(create func() agent.Env, openSession func(agent.Job, Limits) (agent.Policy, error), l Limits) agent.Runner {
	var open agent.Opener = func(job agent.Job) (agent.Policy, error) { return openSession(job, l) }
	if a.wrap != nil {
		open = a.wrap(open)
	}
	c, limits := a.config.Agent, agent.Defaults()
	step := seconds(c.StepTimeout)
	limits.Turns, limits.Reset, limits.Step, limits.Close = tighter(c.MaxTurns, l.Turns), step, step, min(limits.Close, step)
	return &agent.EnvRunner{Config: limits, New: create, Open: open}
}

// tighter is a bound and perhaps another; 0 is none.
func tighter(bound, other int) int {
	if other > 0 {
		return min(bound, other)
	}
	return bound
}

func (a *Agent) chatRunner(create func() agent.ChatAgent, l Limits) agent.Runner {
	limits := agent.ChatDefaults()
	limits.Run, limits.MaxLength, limits.Sampling = seconds(a.config.Agent.Timeout), tighter(a.config.MaxLen, l.Tokens), a.sampling()
	return &agent.ChatRunner{Config: limits, New: create, Connect: func(job agent.Job) (agent.Endpoint, error) { return a.server.connect(job, l) }}
}

func (a *Agent) options(job agent.Job, l Limits) gateway.Options {
	return gateway.Options{
		Seed: a.config.Seed, Group: job.Group, Sample: job.Sample, Attempt: job.Attempt, Sampling: a.config.Sampling(job.Eval),
		MaxTokens: tighter(a.config.MaxLen, l.Tokens),
	}
}

func (a *Agent) openInside(job agent.Job, l Limits) (agent.Policy, error) {
	return a.inside.Open(a.options(job, l))
}

func (a *Agent) openText(job agent.Job, l Limits) (agent.Policy, error) {
	s, err := a.inside.OpenText(a.options(job, l))
	if err != nil {
		return nil, err
	}
	return literal{s}, nil
}

// literal lets an environment change how its session samples.
type literal struct{ *gateway.Text }

// Resample implements agent.Resampler.
func (l literal) Resample(s agent.Sampling) error {
	is := l.Sampling()
	as := agent.Sampling{Temperature: float64(is.Temperature), TopP: float64(is.TopP), TopK: is.TopK, MaxTokens: is.MaxTokens}.With(s)
	is.Temperature, is.TopP, is.TopK, is.MaxTokens = float32(as.Temperature), float32(as.TopP), as.TopK, as.MaxTokens
	return l.Text.Resample(is)
}

// Unparsed is a sentence when tools were offered often and no call was ever parsed, else "".
func (a *Agent) Unparsed() string {
	switch {
	case a.server != nil:
		return a.server.unparsed()
	case a.inside != nil:
		if c := a.inside.Counts(); c.Offered > 100 && c.Calls == 0 {
			return fmt.Sprintf("tools were offered in %d turns and none was ever called", c.Offered)
		}
	}
	return ""
}

// Close ends everything that the agent and its sessions hold.
func (a *Agent) Close() error {
	var errs []error
	if a.server != nil {
		errs = append(errs, a.server.close())
	}
	if a.pool != nil {
		errs = append(errs, a.pool.Close())
	}
	if a.folder != "" {
		errs = append(errs, os.RemoveAll(a.folder))
	}
	return errors.Join(errs...)
}
