// What was said, kept beside the tokens: rollouts hold ids only, and people want to read.

package run

import (
	"context"
	"sync"
	"time"

	"molt/agent"
	"molt/chat"
	"molt/metrics"
)

// recorder keeps the transcripts of rollouts until somebody takes them. It is safe for concurrent use.
type recorder struct {
	mu   sync.Mutex // guards said
	said map[spoken]transcript
}

// transcript is what was said in a rollout, and how long that took.
type transcript struct {
	messages []metrics.Message
	seconds  float64 // from the opening of its session to the end
}

// spoken names a rollout.
type spoken struct {
	group  int64
	sample int
}

func newRecorder() *recorder { return &recorder{said: map[spoken]transcript{}} }

// wrap records every session that open opens. A later attempt of a rollout replaces an earlier one.
func (r *recorder) wrap(open agent.Opener) agent.Opener {
	return func(job agent.Job) (agent.Policy, error) {
		policy, err := open(job)
		if err != nil {
			return nil, err
		}
		return &recorded{Policy: policy, recorder: r, key: spoken{job.Group, job.Sample}, since: time.Now()}, nil
	}
}

// take returns a transcript and forgets it; its messages are nil when there is none.
func (r *recorder) take(group int64, sample int) transcript {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := spoken{group, sample}
	said := r.said[key]
	delete(r.said, key)
	return said
}

// forget drops the transcripts of a group.
func (r *recorder) forget(group int64, samples int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range samples {
		delete(r.said, spoken{group, i})
	}
}

// recorded is a session that notes what passes through it.
type recorded struct {
	agent.Policy
	recorder *recorder
	key      spoken
	messages []metrics.Message
	turns    int
	since    time.Time
}

// Begin implements agent.Policy.
func (p *recorded) Begin(messages []chat.Message, tools []chat.ToolSpec) error {
	p.note(messages)
	return p.Policy.Begin(messages, tools)
}

// Turn implements agent.Policy.
func (p *recorded) Turn(ctx context.Context, observation []chat.Message) (chat.Reply, error) {
	p.note(observation)
	reply, err := p.Policy.Turn(ctx, observation)
	if err == nil {
		p.note([]chat.Message{reply.Message})
		if reply.Malformed > 0 {
			p.messages[len(p.messages)-1].Problem = "a tool call could not be read"
		}
		p.turns++
	}
	return reply, err
}

// Close implements agent.Policy.
func (p *recorded) Close() error {
	p.recorder.mu.Lock()
	p.recorder.said[p.key] = transcript{p.messages, time.Since(p.since).Seconds()}
	p.recorder.mu.Unlock()
	return p.Policy.Close()
}

func (p *recorded) note(messages []chat.Message) {
	for i := range messages {
		m := &messages[i]
		out := metrics.Message{Node: p.turns, Role: string(m.Role), Text: m.Content, Thinking: m.Reasoning, CallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			out.Calls = append(out.Calls, metrics.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments.String()})
		}
		p.messages = append(p.messages, out)
	}
}
