// --dry-run: what a run would read, hold in memory, compute and write. Nothing is touched.

package leg

import (
	"fmt"
	"strings"

	"molt/engine/local"
	"molt/internal/spell"
)

// Plan is what a run would do. What does not apply is 0 or empty.
type Plan struct {
	Command       string   `json:"command"`
	Model         string   `json:"model"`
	Made          string   `json:"-"` // how, where it is not there yet
	Parameters    int64    `json:"parameters"`
	Trained       int64    `json:"trained,omitzero"` // of them, or of an adapter
	Prompts       int      `json:"prompts,omitzero"`
	HeldOut       int      `json:"held_out,omitzero"`
	Conversations int      `json:"conversations,omitzero"`
	Steps         int64    `json:"steps,omitzero"`   // batches
	Updates       int64    `json:"updates,omitzero"` // optimizer steps
	Rollouts      int      `json:"rollouts_per_step,omitzero"`
	StepTokens    int64    `json:"max_tokens_per_step,omitzero"` // of one batch, or of an evaluation: prompts and replies, at most
	Seconds       float64  `json:"about_seconds"`                // on this machine, as busy as it is now
	Bound         bool     `json:"seconds_are_a_bound"`          // if every rollout is as long as it may be
	Notes         []string `json:"notes,omitempty"`              // what the user should think about
	Memory        []Memory `json:"memory"`
	MemoryTotal   int64    `json:"memory_total"` // bytes, at most: pages that nothing reaches cost nothing
	Writes        []string `json:"writes"`
}

// Memory is one part of a plan.
type Memory struct {
	Part  string `json:"part"`
	Bytes int64  `json:"bytes"`
}

// String is the plan as a few lines.
func (p *Plan) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-14s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("model", "%s, %d parameters", spell.Quoted(p.Model)+p.Made, p.Parameters)
	if p.Trained > 0 && p.Trained != p.Parameters {
		line("trained", "%d parameters", p.Trained)
	}
	if p.Prompts > 0 {
		line("prompts", "%d to train on, %d held out", p.Prompts, p.HeldOut)
	}
	if p.Conversations > 0 {
		line("conversations", "%d", p.Conversations)
	}
	if p.Steps > 0 {
		bound := ""
		if p.Rollouts > 0 { // one whose groups are all flat is left out
			bound = "at most "
		}
		line("steps", "%d, %s%d optimizer updates", p.Steps, bound, p.Updates)
	}
	switch {
	case p.Steps > 0 && p.Rollouts > 0:
		line("each step", "%d rollouts, at most %d tokens", p.Rollouts, p.StepTokens)
	case p.Rollouts > 0:
		line("rollouts", "%d, at most %d tokens", p.Rollouts, p.StepTokens)
	}
	line("time", "%s", p.expected())
	for _, n := range p.Notes {
		line("note", "%s", n)
	}
	line("memory", "at most %s", spell.MiB(p.MemoryTotal))
	for _, m := range p.Memory {
		line("", "%8s  %s", spell.MiB(m.Bytes), m.Part)
	}
	for i, w := range p.Writes {
		line([]string{"writes", ""}[min(i, 1)], "%s", w)
	}
	return b.String()
}

func (p *Plan) expected() string {
	if p.Bound {
		return "at most " + roughly(p.Seconds) + ": rollouts are often shorter than they may be"
	}
	return roughly(p.Seconds)
}

// AddWrites adds what a run would write into its folder.
func (p *Plan) AddWrites(dir string, inside ...string) {
	if dir == "" {
		p.Writes = []string{"nothing yet: a run needs a folder, --ckpt.path FOLDER"}
		return
	}
	for _, name := range inside {
		p.Writes = append(p.Writes, spell.Quoted(dir)+"/"+name)
	}
}

func (p *Plan) Add(part string, bytes int64) {
	p.Memory = append(p.Memory, Memory{part, bytes})
	p.MemoryTotal += bytes
}

func (p *Plan) AddLearner(m local.Memory) {
	p.Add("learner: weights", m.LearnerWeights)
	p.Add("learner: gradients and moments", m.Gradients+m.Moments)
	p.Add("learner: activations of a micro-batch", m.Activations)
}

func (p *Plan) AddGenerator(m local.Memory) {
	p.Add("generator: weights", m.GeneratorWeights)
	p.Add("generator: KV cache", m.KV)
	p.Add("generator: activations of a step", m.GeneratorWork)
}
