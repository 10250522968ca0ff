package rehearse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"molt/agent"
	"molt/chat"
	"molt/chat/parse"
	"molt/engine"
	"molt/engine/enginetest"
	"molt/engine/local"
	"molt/gateway/script"
	"molt/prompts"
	"molt/run/doors"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/run/tasks"
	"molt/traj"
)

// Config says what is played, and who is the policy.
type Config struct {
	Recipe  *recipe.Config
	Prompt  string // the only prompt, with Label; "" takes those of data.prompt_dataset
	Label   string
	Prompts int // at most so many of the data; 1 or more

	// Say is the policy where model.model_name_or_path is empty: its next reply. Its error ends the rehearsal.
	Say func(ctx context.Context) (string, error)
	Out io.Writer // the story; written by several goroutines, one at a time
}

// Play plays the prompts one after another. Close nothing: it has closed what it opened.
func Play(ctx context.Context, c Config) (_ []*traj.Rollout, err error) {
	list, err := c.tasks()
	if err != nil {
		return nil, err
	}
	p, err := c.policy()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	a, err := c.open(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	whole, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p.fail = fail
	if err := a.Start(p, nil); err != nil {
		return nil, err
	}
	var played []*traj.Rollout
	for i, t := range list {
		p.tell("--- prompt %s (%d of %d)\n", t.ID, i+1, len(list))
		r := c.one(whole, a, int64(i), t)
		p.tell("%s\n", ending(r))
		if played = append(played, r); whole.Err() != nil {
			return played, context.Cause(whole)
		}
	}
	return played, nil
}

// one plays a rollout to its end.
func (c *Config) one(ctx context.Context, a *doors.Agent, group int64, t agent.Task) *traj.Rollout {
	limited, cancel := context.WithTimeout(ctx, time.Duration(c.Recipe.Agent.Timeout*float64(time.Second)))
	defer cancel()
	return a.Runner().Run(limited, agent.Job{Group: group, Task: t})
}

// ending is how a rollout ended, in a line.
func ending(r *traj.Rollout) string {
	text := "[end] " + string(r.Outcome)
	if r.Outcome.Graded() {
		text += fmt.Sprintf(", reward %g", r.Reward)
		if r.Score != r.Reward {
			text += fmt.Sprintf(", score %g", r.Score)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Info)) {
		text += fmt.Sprintf(", %s %g", name, r.Info[name])
	}
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	return text
}

// tasks are what is played.
func (c *Config) tasks() ([]agent.Task, error) {
	d := c.Recipe.Data
	if c.Prompt != "" {
		return []agent.Task{{ID: "1", Messages: []chat.Message{{Role: chat.User, Content: c.Prompt}}, Label: c.Label, Seed: c.Recipe.Train.Seed}}, nil
	}
	if len(d.Prompts) == 0 {
		return nil, &problem.Problem{Code: problem.Usage, What: "nothing to play", Fix: "give a --prompt, perhaps with a --label, or a file with --data.prompt_dataset"}
	}
	keys := prompts.Keys{Input: d.InputKey, Label: tasks.LabelKey(d.LabelKey, d.Prompts...), Tools: d.ToolsKey, ID: d.IDKey}
	sets, err := tasks.Read(d.Prompts, nil, keys, c.Prompts)
	if err != nil {
		return nil, err
	}
	list, err := tasks.HeldOut(sets, c.Recipe.Train.Seed)
	return list[:min(len(list), c.Prompts)], err
}

// Bounds where there is no model that has its own.
const (
	longest      = 1 << 18 // tokens of a rollout
	longestReply = 1 << 16 // tokens
)

// policy opens the model, or what stands in for one.
func (c *Config) policy() (*heard, error) {
	p := &heard{out: c.Out, shown: map[string][]int32{}}
	if c.Recipe.Model.Path == "" {
		return p, c.standIn(p)
	}
	m, err := models.Open(c.Recipe.Model.Path)
	if err == nil {
		err = errors.Join(m.NeedTemplate(), m.Adapt(c.Recipe.Model.Adapter))
	}
	if err != nil {
		return nil, err
	}
	shape, err := models.Bounded(m.Shape, c.Recipe.Rollout.MaxLen)
	if err != nil {
		return nil, err
	}
	const together = 8 // requests: sub-agents may ask side by side
	config := models.Engine(c.Recipe.Engine.Threads, together, c.Recipe.Engine.CacheMiB, 0, shape)
	config.Copied = m.Release
	p.model = m
	if p.Generator, err = local.NewGenerator(shape, m.Weights, config); err != nil {
		return nil, &problem.Problem{Code: problem.Model, Where: m.Path, What: err.Error(), Fix: "choose another model", Err: err}
	}
	return p, nil
}

// standIn lets Say be the policy, with a tokenizer and a chat template of no model.
func (c *Config) standIn(p *heard) error {
	renderer, err := script.Model()
	if err != nil {
		return err
	}
	family, err := parse.Named("hermes")
	if err != nil {
		return err
	}
	p.model = &models.Model{Renderer: renderer.WithReader(family.Reader()), Tok: renderer.Tokenizer(), Family: family}
	p.say, p.replies = c.Say, map[engine.Key]string{}
	end, _ := renderer.EndOfTurn()
	p.Generator = enginetest.NewScript(enginetest.ScriptConfig{
		Vocab: p.model.Tok.VocabSize(), MaxTokens: longest,
		Reply: func(r engine.Request) []int32 { return append(p.model.Tok.EncodeSpecial(p.reply(r.Key)), end) },
	})
	return nil
}

// open opens the agent that the settings name.
func (c *Config) open(ctx context.Context, p *heard) (*doors.Agent, error) {
	log := new(doors.Log)
	log.Send(p)
	maxLen, s := longest, engine.Sampling{Temperature: 1, TopP: 1, MaxTokens: longestReply, StopTokens: p.model.Stops()}
	if r := c.Recipe.Rollout; p.say == nil {
		maxLen = r.MaxLen
		s.Temperature, s.TopP, s.TopK, s.MinP, s.MaxTokens = float32(r.Temperature), float32(r.TopP), r.TopK, float32(r.MinP), r.MaxNewTokens
	}
	return doors.OpenNamed(ctx, doors.Config{
		Agent: &c.Recipe.Agent, Model: p.model, Seed: c.Recipe.Train.Seed, MaxLen: maxLen, Log: log,
		Sampling: func(bool) engine.Sampling { return s },
	})
}

// Failed counts the rollouts that were not graded, and how the first of them ended.
func Failed(played []*traj.Rollout) (n int, first string) {
	for _, r := range played {
		if r.Outcome.Graded() {
			continue
		}
		if n++; n == 1 {
			first = strings.TrimPrefix(ending(r), "[end] ")
		}
	}
	return n, first
}
