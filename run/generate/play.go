// Playing an environment by hand: a question is asked, the environment answers the model's replies, and the episode is graded.

package generate

import (
	"context"
	"fmt"
	"time"

	"molt/agent"
	"molt/chat"
	"molt/run/problem"
)

// World is the environment that answers the model.
type World struct {
	Name  string // shop reads questions of its own kind where there is no Label
	New   func() agent.Env
	Label string        // of every question
	Turns int           // replies of the model; 1 or more
	Step  time.Duration // that a call of the environment may take; more than 0
}

// Episode is a question, played to its end.
type Episode struct {
	Prompt    int64              `json:"prompt"`
	Sample    int                `json:"sample"`
	Messages  []chat.Message     `json:"messages"`
	Replies   []Said             `json:"replies"`
	Reward    float64            `json:"reward"`
	Score     *float64           `json:"score,omitempty"` // where the environment gives one besides
	Info      map[string]float64 `json:"info,omitempty"`
	Truncated bool               `json:"truncated,omitempty"` // it was stopped before its end
	Total     int                `json:"total,omitzero"`      // the shop's right answer
}

// Watcher is shown an episode as it goes on. Its fields may be nil.
type Watcher struct {
	Show func(text string) // a piece of a reply
	Tool func(text string) // what the environment answered; the reply before it has ended
}

// Play asks the question and plays the environment to its end.
func (s *Speaker) Play(ctx context.Context, ordinal int64, sample int, question string, w Watcher) (e Episode, err error) {
	e = Episode{Prompt: ordinal, Sample: sample}
	task, total, err := s.task(ordinal, question)
	if err != nil {
		return e, err
	}
	e.Total = total
	env := s.config.World.New()
	defer env.Close() // an error of it changes nothing that was shown
	var start agent.Start
	err = s.limited(ctx, func(ctx context.Context) (err error) {
		start, err = env.Reset(ctx, task)
		return err
	})
	if err != nil {
		return e, s.worldProblem("cannot begin with the question", err)
	}
	c := s.Converse(ordinal, sample)
	c.messages, c.tools, e.Messages = nil, start.Tools, start.Messages
	return e, s.turns(ctx, env, c, &e, w)
}

// turns lets model and environment take turns.
func (s *Speaker) turns(ctx context.Context, env agent.Env, c *Conversation, e *Episode, w Watcher) error {
	observation := e.Messages
	for turn := range s.config.World.Turns {
		said, err := c.turn(ctx, observation, w.Show)
		if err != nil || said.Message == nil {
			return err
		}
		e.Replies, e.Messages = append(e.Replies, said), append(e.Messages, *said.Message)
		if ctx.Err() != nil {
			return nil
		}
		var r agent.Result
		err = s.limited(ctx, func(ctx context.Context) (err error) {
			r, err = env.Step(ctx, agent.Action{Reply: c.last, Turn: turn})
			return err
		})
		if err != nil {
			return s.worldProblem("failed", err)
		}
		e.Reward += r.Reward
		e.Score, e.Info, e.Truncated = r.Score, r.Info, r.Truncated
		if r.Terminated || r.Truncated {
			return nil
		}
		observation = r.Observation
		e.Messages = append(e.Messages, observation...)
		w.tell(observation)
	}
	e.Truncated = true
	return nil
}

func (s *Speaker) limited(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.World.Step)
	defer cancel()
	return call(ctx)
}

// worldProblem is the environment's. What the shop cannot read is the question's.
func (s *Speaker) worldProblem(what string, err error) error {
	if s.config.World.Name == shopName && s.config.World.Label == "" {
		return shopProblem(err.Error())
	}
	return &problem.Problem{Code: problem.Data, What: fmt.Sprintf("the environment %s %s", s.config.World.Name, what), Why: err.Error(), Fix: "mend it, or give what it compares with --label", Err: err}
}

// task is a question as the environment is given it, and the right answer of the shop's.
func (s *Speaker) task(ordinal int64, question string) (agent.Task, int, error) {
	w := s.config.World
	if w.Name == shopName && w.Label == "" {
		return s.shopping(ordinal, question)
	}
	messages := []chat.Message{{Role: chat.User, Content: question}}
	return agent.Task{ID: fmt.Sprint(ordinal), Source: "typed", Messages: messages, Label: w.Label, Seed: s.config.Seed}, 0, nil
}

func (w Watcher) tell(observation []chat.Message) {
	if w.Tool == nil {
		return
	}
	for _, m := range observation {
		w.Tool(m.Content)
	}
}
