// The first door: the framework owns the loop, the file has an Env. Its observations are text that is appended as it is:
// the agent's author writes the turn markers of the model.

package python

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"molt/agent"
	"molt/chat"
)

// Env is a new rollout's environment. Its messages carry literal text: the session must not put them through a template.
func (p *Pool) Env() agent.Env { return &env{pool: p, sampling: p.config.Sampling} }

type env struct {
	pool     *Pool
	process  *process // nil before Reset
	rollout  string
	label    string
	text     strings.Builder // all that was said
	sampling agent.Sampling
}

// Reset implements agent.Env.
func (e *env) Reset(ctx context.Context, task agent.Task) (agent.Start, error) {
	prompt, err := e.pool.config.Render(task)
	if err != nil {
		return agent.Start{}, err
	}
	m, err := e.pool.member(ctx)
	if err != nil {
		return agent.Start{}, fmt.Errorf("%w: %w", chat.ErrInfrastructure, err)
	}
	e.process, e.rollout, e.label = m, e.pool.name(), task.Label
	var begun struct {
		Observation string   `json:"observation"`
		Images      pictures `json:"images"`
	}
	state := map[string]any{"observation": prompt, "label": task.Label}
	if images := chat.Images(task.Messages...); len(images) > 0 {
		state["images"] = urls(images)
	}
	if err := m.call(ctx, "reset", request{Rollout: e.rollout, State: state}, &begun); err != nil {
		return agent.Start{}, e.pool.typed(m, err)
	}
	e.text.WriteString(begun.Observation)
	messages, err := literal(begun.Observation, begun.Images)
	return agent.Start{Messages: messages}, err
}

// Step implements agent.Env.
func (e *env) Step(ctx context.Context, a agent.Action) (agent.Result, error) {
	state := map[string]any{"observation_text": e.text.String(), "action_text": a.Text, "label": e.label, "sampling_params": settings(e.sampling)}
	var said outcome
	if err := e.process.call(ctx, "step", request{Rollout: e.rollout, State: state}, &said); err != nil {
		return agent.Result{}, e.pool.typed(e.process, err)
	}
	result, err := said.result()
	if err != nil {
		return agent.Result{}, err
	}
	e.text.WriteString(a.Text)
	e.text.WriteString(said.Observation)
	if result.Observation, err = literal(said.Observation, said.Images); err != nil {
		return agent.Result{}, err
	}
	if result.Sampling != (agent.Sampling{}) {
		e.sampling = e.sampling.With(result.Sampling)
	}
	return result, nil
}

// Close implements agent.Env.
func (e *env) Close() error {
	if e.process == nil {
		return nil
	}
	defer e.pool.release(e.process)
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	return e.process.call(ctx, "close", request{Rollout: e.rollout}, &struct{}{})
}

// pictures are images as the worker sends them, in base64.
type pictures []string

// literal is text as it is, and the images whose placeholders its author wrote into it.
func literal(text string, images pictures) ([]chat.Message, error) {
	parts := []chat.Part{{Text: text}}
	for i, data := range images {
		image, err := chat.Base64Image(data)
		if err != nil {
			return nil, fmt.Errorf("image %d of the agent %w", i, err)
		}
		parts = append(parts, chat.Part{Image: image})
	}
	return []chat.Message{chat.NewMessage(chat.User, parts...)}, nil
}

func urls(images []*chat.Image) []string {
	list := make([]string, len(images))
	for i, image := range images {
		list[i] = image.DataURL()
	}
	return list
}

// outcome is a Result as the worker sends it. Numbers that JSON cannot say travel as text.
type outcome struct {
	Reward      string             `json:"reward"`
	Score       *string            `json:"score"`
	Observation string             `json:"observation"`
	Terminated  bool               `json:"terminated"`
	Truncated   bool               `json:"truncated"`
	Info        map[string]float64 `json:"info"`
	Images      pictures           `json:"images"`
	Sampling    map[string]any     `json:"sampling_params"`
}

func (o *outcome) result() (agent.Result, error) {
	r := agent.Result{Reward: number(o.Reward), Terminated: o.Terminated, Truncated: o.Truncated, Info: o.Info}
	if o.Score != nil {
		score := number(*o.Score)
		r.Score = &score
	}
	var err error
	r.Sampling, err = asked(o.Sampling)
	return r, err
}

// number reads what Python's repr of a float says; not-a-number is the runner's to judge.
func number(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// settings is Sampling as agents know it.
func settings(s agent.Sampling) map[string]any {
	return map[string]any{"temperature": s.Temperature, "top_p": s.TopP, "top_k": s.TopK, "max_tokens": s.MaxTokens, "logprobs": 1}
}

// neutral are the settings that may come back although nothing here follows them, and what they must then be.
var neutral = map[string][]any{
	"logprobs": {nil, 0.0, 1.0}, "n": {nil, 1.0}, "min_p": {nil, 0.0}, "repetition_penalty": {nil, 1.0}, "frequency_penalty": {nil, 0.0},
	"presence_penalty": {nil, 0.0}, "min_tokens": {nil, 0.0}, "skip_special_tokens": {nil, true, false}, "stop": {nil}, "seed": {nil},
	"include_stop_str_in_output": {nil, true, false}, "stop_token_ids": {nil},
}

// asked reads the settings that an agent wants from now on.
func asked(settings map[string]any) (agent.Sampling, error) {
	var s agent.Sampling
	for name, value := range settings {
		x, isNumber := value.(float64)
		switch {
		case name == "temperature" && isNumber && x > 0:
			s.Temperature = x
		case name == "top_p" && isNumber:
			s.TopP = x
		case name == "top_k" && isNumber && x == math.Trunc(x):
			s.TopK = int(x)
		case name == "max_tokens" && isNumber && x == math.Trunc(x):
			s.MaxTokens = int(x)
		case slices.Contains(neutral[name], value):
		default:
			return s, fmt.Errorf("the agent asked for sampling_params %s = %v, which is not supported", name, value)
		}
	}
	return s, nil
}
