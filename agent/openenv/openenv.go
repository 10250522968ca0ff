// A rollout: Reset opens a session of its own, Step sends an action, Close ends it.

package openenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"molt/agent"
	"molt/chat"
	"molt/traj"
)

// Settings are agent.openenv.*.
type Settings struct {
	URL         string `yaml:"url" help:"address of a running environment, such as http://127.0.0.1:8000; nothing else is reached"`
	Action      string `yaml:"action" help:"how a reply becomes an action: a JSON object with {reply} in its texts, json (the object in the reply), or tools (the environment's); without it the environment's schema decides"`
	Take        string `yaml:"take" help:"regular expression whose first group, where it matches last, is {reply}; without one that is the whole reply"`
	Observation string `yaml:"observation" help:"how the policy sees an observation: text with {field} or {field.part}; without it as JSON, or as it is where it is one text"`
	Reset       string `yaml:"reset" help:"JSON object that begins an episode, with {label}, {prompt} and {id} in its texts; the seed is always added"`
	Token       string `yaml:"token_variable" help:"environment variable that holds a bearer token for the address"`
}

// plan is what Open made of the settings.
type plan struct {
	Settings
	server   *server
	way      string // byTools, byJSON, or "" for the template
	template chat.Value
	reset    chat.Value
	pattern  *regexp.Regexp
}

// reachable is how long the server may take to say what its schema is.
const reachable = 10 * time.Second

// Open asks the server for its schema and refuses what would fail in every rollout. The result makes the Env of each.
func Open(s Settings) (func() agent.Env, error) {
	p := &plan{Settings: s}
	if err := p.read(); err != nil {
		return nil, fmt.Errorf("openenv: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), reachable)
	defer cancel()
	schema, err := p.server.schema(ctx)
	if err != nil {
		return nil, fmt.Errorf("openenv: asking %s for its schema: %w", p.server.url, err)
	}
	actions, _ := schema.Get("action")
	observations, _ := schema.Get("observation")
	if p.way, p.template, err = chooseAction(s.Action, actions); err != nil {
		return nil, fmt.Errorf("openenv: %w", err)
	}
	if err := checkShown(s.Observation, observations); err != nil {
		return nil, fmt.Errorf("openenv: %w", err)
	}
	return func() agent.Env { return &env{plan: p} }, nil
}

// read is what can be known without the server.
func (p *plan) read() (err error) {
	token := ""
	if p.Token != "" {
		if token = os.Getenv(p.Token); token == "" {
			return fmt.Errorf("token_variable: the variable %s is empty; set it", p.Token)
		}
	}
	if p.server, err = newServer(p.URL, token); err != nil {
		return err
	}
	p.reset = chat.Object()
	if p.Reset != "" {
		if p.reset, err = parseTemplate("reset", p.Reset); err != nil {
			return err
		}
	}
	if p.Take == "" {
		return nil
	}
	if p.pattern, err = regexp.Compile(p.Take); err == nil && p.pattern.NumSubexp() < 1 {
		err = fmt.Errorf("take is %q; want a group in it, such as <move>(.*?)</move>", p.Take)
	}
	return err
}

// env is one rollout.
type env struct {
	*plan
	session  *session // nil before Reset
	earned   float64  // since the last Step returned
	rewarded bool     // the environment named a reward
}

// Reset implements agent.Env: the row's messages, and behind them what the environment shows first.
func (e *env) Reset(ctx context.Context, task agent.Task) (agent.Start, error) {
	names := strings.NewReplacer("{label}", task.Label, "{prompt}", task.Prompt(), "{id}", task.ID)
	wanted := without(fill(e.reset, names), "seed")
	seed := chat.Member{Name: "seed", Value: chat.Int(int64(task.Seed & (1<<31 - 1)))}
	s, err := e.begin(ctx, chat.Object(append(slices.Clone(wanted.Members()), seed)...))
	if err != nil {
		return agent.Start{}, err
	}
	if s.done {
		return agent.Start{}, errors.New("the environment's episode was over when it began")
	}
	start := agent.Start{Messages: task.Clone().Messages}
	if e.way == byTools {
		if start.Tools, err = e.offered(ctx); err != nil {
			return start, err
		}
		if len(s.observation.Members()) == 0 { // all there is to see are the tools
			return start, nil
		}
	}
	text, err := show(e.Observation, s.observation)
	if err != nil {
		return start, err
	}
	start.Messages = shown(start.Messages, text)
	return start, nil
}

// shown adds a text to the conversation: behind the user's last words, where they were the last.
func shown(messages []chat.Message, text string) []chat.Message {
	if n := len(messages); n > 0 && messages[n-1].Role == chat.User && messages[n-1].Parts == nil {
		messages[n-1].Content += "\n\n" + text
		return messages
	}
	return append(messages, chat.Message{Role: chat.User, Content: text})
}

// patience between two tries at a server whose sessions are all taken.
const patience = 200 * time.Millisecond

// begin opens a session and resets it. While the server is full it tries again, for most of the time that a reset may take.
func (e *env) begin(ctx context.Context, data chat.Value) (seen, error) {
	var give time.Time
	if end, ok := ctx.Deadline(); ok {
		give = end.Add(-time.Until(end) / 5)
	}
	for {
		session, err := e.server.open(ctx)
		if err != nil {
			return seen{}, err
		}
		s, err := session.ask(ctx, "reset", data)
		if err == nil {
			e.session = session
			return s, nil
		}
		session.close()
		var r refusal
		if !errors.As(err, &r) || r.code != full {
			return s, err
		}
		if !give.IsZero() && time.Now().Add(patience).After(give) {
			return s, fmt.Errorf("%w: %w; let the server hold more sessions, or lower engine.in_flight", chat.ErrInfrastructure, err)
		}
		select {
		case <-ctx.Done():
			return s, context.Cause(ctx)
		case <-time.After(patience):
		}
	}
}

// Step implements agent.Env.
func (e *env) Step(ctx context.Context, a agent.Action) (agent.Result, error) {
	e.earned = 0
	if e.way == byTools {
		return e.stepTools(ctx, a.Message.ToolCalls)
	}
	action, err := e.action(a.Message.Content)
	if err != nil {
		return agent.Result{Observation: say("error: " + err.Error())}, nil
	}
	s, err := e.session.ask(ctx, "step", action)
	text, err := e.told(err)
	switch {
	case err != nil:
		return agent.Result{}, err
	case text != "":
		return agent.Result{Observation: say(text)}, nil
	}
	e.earn(s)
	if text, err = show(e.Observation, s.observation); err != nil {
		return agent.Result{}, err
	}
	return e.result(say(text), s.done)
}

func (e *env) stepTools(ctx context.Context, calls []chat.ToolCall) (agent.Result, error) {
	answers, done, err := e.callAll(ctx, calls)
	if err != nil {
		return agent.Result{}, err
	}
	return e.result(answers, done || len(calls) == 0) // a reply without calls is the policy's last word
}

// result is where a step led. An episode that ends without ever having named a reward cannot be graded.
func (e *env) result(observation []chat.Message, done bool) (agent.Result, error) {
	if done && !e.rewarded {
		return agent.Result{}, agent.Failed(traj.Grader, errors.New("the environment's episode ended, and it never named a reward"))
	}
	return agent.Result{Reward: e.earned, Observation: observation, Terminated: done}, nil
}

// action is what a reply does. An error is the policy's.
func (e *env) action(said string) (chat.Value, error) {
	text, found := take(e.pattern, said)
	if !found {
		return chat.Value{}, fmt.Errorf("the reply does not hold what matches %s", e.Take)
	}
	if e.way == byJSON {
		action, err := jsonIn(text)
		if err != nil {
			err = fmt.Errorf("the reply must hold a JSON object: %w", err)
		}
		return action, err
	}
	return fill(e.template, strings.NewReplacer(reply, text)), nil
}

// told turns a refused action into what the policy reads of it. Other errors stay.
func (e *env) told(err error) (string, error) {
	var r refusal
	if errors.As(err, &r) && r.code == badAction {
		return "error: " + r.message, nil
	}
	return "", err
}

func (e *env) earn(s seen) {
	if s.reward != nil {
		e.earned += *s.reward
		e.rewarded = true
	}
}

// Close implements agent.Env.
func (e *env) Close() error {
	if e.session != nil {
		e.session.close()
	}
	return nil
}

func say(text string) []chat.Message { return []chat.Message{{Role: chat.User, Content: text}} }
