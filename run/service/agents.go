// The agents that orders can name: the one that the settings of the server describe, every one that is registered in the
// program, and, where the server was told to trust its clients, any program of theirs.

package service

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"sync"

	"molt/agent"
	"molt/chat"
	"molt/engine"
	"molt/run/doors"
	"molt/run/models"
	"molt/run/recipe"
)

// agentChoice is a name, or an object with a program of the client's.
type agentChoice struct {
	Name    string      `json:"-"` // "" is the one of the settings
	Command string      `json:"command"`
	Preset  string      `json:"preset"`
	Reward  gradeChoice `json:"reward"`
}

type gradeChoice struct {
	From   string `json:"from"`
	Grader string `json:"grader"`
	URL    string `json:"url"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *agentChoice) UnmarshalJSON(data []byte) error {
	if v, err := chat.ParseValue(data); err != nil || v.Kind() == chat.KindString {
		c.Name = v.Text()
		return err
	}
	type plain agentChoice
	return json.Unmarshal(data, (*plain)(c), json.RejectUnknownMembers(true))
}

// agents are opened when they are first named, and stay open.
type agents struct {
	settings  recipe.AgentConfig
	trusting  bool // clients may name programs
	model     *models.Model
	sampling  engine.Sampling
	generator engine.Generator
	maxLen    int
	log       io.Writer

	mu   sync.Mutex // guards open
	open map[agentChoice]*doors.Agent
}

// mostAgents are open at once.
const mostAgents = 32

// get opens the agent of an order, or finds it open.
func (a *agents) get(ctx context.Context, o *order) (*doors.Agent, error) {
	c, err := a.config(o.Agent)
	if err != nil {
		return nil, err
	}
	if len(chat.Images(o.messages...)) > 0 && !a.generator.Capabilities().Images {
		return nil, errors.New("messages: they show images, and the model is a text-only model: leave them out")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	opened := a.open[o.Agent]
	if opened == nil {
		if len(a.open) == mostAgents {
			return nil, fmt.Errorf("agent: %d are open already; use one of them", mostAgents)
		}
		if opened, err = a.begin(ctx, c); err != nil {
			return nil, err
		}
		a.open[o.Agent] = opened
	}
	if o.Limits.Turns > 0 && opened.OwnsLoop() {
		return nil, errors.New("limits.turns: this agent asks as often as it likes; limit tokens or seconds")
	}
	return opened, nil
}

// config are the settings of a choice.
func (a *agents) config(c agentChoice) (*recipe.AgentConfig, error) {
	settings := a.settings
	switch {
	case c.Command != "" || c.Preset != "" || c.Reward != (gradeChoice{}):
		if !a.trusting {
			return nil, errors.New("agent: this server runs no programs for its clients; name one of its agents")
		}
		if (c.Command == "") == (c.Preset == "") {
			return nil, errors.New("agent: want command or preset, one of them")
		}
		settings.Path, settings.Command, settings.Preset = "", c.Command, c.Preset
		if c.Reward != (gradeChoice{}) {
			settings.Reward.From, settings.Reward.Grader, settings.Reward.URL = c.Reward.From, c.Reward.Grader, c.Reward.URL
		}
	case c.Name != "":
		if _, ok := agent.KindOf(c.Name); !ok {
			return nil, fmt.Errorf("agent: no agent %q; without a name it is the one of the server's settings, and there are %s", c.Name, names())
		}
		settings.Path, settings.Command, settings.Preset, settings.Name = "", "", "", c.Name
	}
	return &settings, nil
}

func names() string {
	var list []string
	for _, k := range agent.Kinds() {
		list = append(list, k.Name)
	}
	return fmt.Sprint(list)
}

func (a *agents) begin(ctx context.Context, c *recipe.AgentConfig) (*doors.Agent, error) {
	log := new(doors.Log)
	log.Send(a.log)
	opened, err := doors.OpenNamed(ctx, doors.Config{Agent: c, Model: a.model, MaxLen: a.maxLen, Log: log, Sampling: func(bool) engine.Sampling { return a.sampling }})
	if err != nil {
		return nil, err
	}
	if err := opened.Start(a.generator, nil); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

func (a *agents) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, opened := range a.open {
		errs = append(errs, opened.Close())
	}
	clear(a.open)
	return errors.Join(errs...)
}
