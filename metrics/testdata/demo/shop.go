package demo

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"molt/metrics"
)

const (
	groups  = 16
	samples = 8
)

// played is a rollout with what the rule asks about it.
type played struct {
	kept   *metrics.RolloutKept
	change float64
	alarm  string
}

// play makes n groups of rollouts at the given step, with advantages inside each group.
func (d *run) play(step, n int, split string) []played {
	var batch []played
	for range n {
		item, other := d.rng.IntN(len(items)), d.rng.IntN(len(items))
		task := task{items[item], items[other], 1 + d.rng.IntN(5), 1 + d.rng.IntN(5), 2 + d.rng.IntN(8), 2 + d.rng.IntN(8)}
		first := len(batch)
		for sample := range samples {
			batch = append(batch, played{kept: d.rollout(step, sample, split, task)})
		}
		if split == metrics.Train {
			advantages(batch[first:])
		}
		d.group++
	}
	if split == metrics.Train {
		d.train(batch, step)
	}
	return batch
}

type task struct {
	a, b   string
	na, nb int
	pa, pb int
}

var items = []string{"pen", "cup", "lamp", "book", "apple", "chair", "rope", "drum", "kite", "bowl"}

// rollout plays one episode: the later the step, the rarer the demonstrator's shortcut.
func (d *run) rollout(step, sample int, split string, t task) *metrics.RolloutKept {
	r := &metrics.RolloutKept{Step: int64(step), Split: split, Group: d.group, Sample: sample, Samples: samples,
		Prompt: d.text(fmt.Sprintf("shop-%d", d.group)), Source: d.text("shop"), Outcome: "completed", Graded: true,
		Seconds: 0.2 + d.rng.Float64(), Info: map[string]float64{"lookups": 2}}
	w := &writer{d: d, r: r, version: int64(step - 1)}
	if d.Async {
		w.version -= int64(d.rng.IntN(min(3, step+1)))
	}
	w.version = max(0, w.version)
	w.observe("user", d.text(fmt.Sprintf("What do %d %ss and %d %ss cost?", t.na, t.a, t.nb, t.b)))
	if d.rng.Float64() < 0.008 {
		r.Outcome, r.Graded, r.Detail = "infrastructure", false, d.text("the engine did not answer within 30 s; retried 2 times")
		r.Retries = 2
		return r
	}
	w.call("lookup", fmt.Sprintf(`{"item": "%s"}`, t.a), fmt.Sprint(t.pa))
	w.call("lookup", fmt.Sprintf(`{"item": "%s"}`, t.b), fmt.Sprint(t.pb))
	right := t.na*t.pa + t.nb*t.pb
	answer := right
	switch skilled := d.rng.Float64() < d.skill(step); {
	case skilled:
		w.call("calc", fmt.Sprintf(`{"expression": "%d*%d+%d*%d"}`, t.na, t.pa, t.nb, t.pb), fmt.Sprint(right))
	case d.rng.Float64() < 0.7:
		answer = t.pb
	case d.rng.Float64() < 0.5:
		answer = t.na + t.pa + t.nb + t.pb
		w.call("calc", fmt.Sprintf(`{"expression": "%d+%d+%d+%d"}`, t.na, t.pa, t.nb, t.pb), fmt.Sprint(answer))
	default:
		w.call("calc", fmt.Sprintf(`{"expresion": "%d*%d"}`, t.na, t.pa), d.text("error: calc needs the argument expression"))
		answer = t.pa
	}
	w.answer(answer)
	if answer == right {
		r.Reward = 1
	}
	if d.rng.Float64() < 0.02 {
		r.Outcome, r.Reward, r.Detail = "truncated", 0, "320 tokens were sampled, the limit of a rollout"
	}
	r.Score = r.Reward
	r.Nodes[len(r.Nodes)-1].Reward = r.Reward
	return r
}

// writer appends messages and tokens to a rollout.
type writer struct {
	d       *run
	r       *metrics.RolloutKept
	version int64
	calls   int
}

var splitter = regexp.MustCompile(`<\|?/?[a-z_]+\|?>|\d| ?[A-Za-z]+|\s|[^\sA-Za-z\d]`)

// observe opens a turn with what the policy is shown.
func (w *writer) observe(role, text string) {
	node := len(w.r.Nodes)
	w.r.Nodes = append(w.r.Nodes, metrics.Node{Parent: node - 1, Temperature: 1, Finish: "stop"})
	m := metrics.Message{Node: node, Role: role, Text: text}
	framed := "<|im_start|>" + role + "\n" + text + "<|im_end|>\n<|im_start|>assistant\n"
	if role == "tool" {
		m.CallID = fmt.Sprintf("call_%d", w.calls)
		framed = "<|im_start|>user\n<tool_response>\n" + text + "\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
	}
	w.r.Messages = append(w.r.Messages, m)
	w.tokens(framed, false)
}

func (w *writer) call(name, arguments, result string) {
	w.calls++
	arguments = w.d.text(arguments)
	m := metrics.Message{Node: len(w.r.Nodes) - 1, Role: "assistant",
		Calls: []metrics.ToolCall{{ID: fmt.Sprintf("call_%d", w.calls), Name: w.d.text(name), Arguments: arguments}}}
	thought := ""
	if name == "calc" {
		m.Thinking = w.d.text("Both prices are known, so the sum is left.")
		thought = "<think>" + m.Thinking + "</think>\n"
	}
	w.r.Messages = append(w.r.Messages, m)
	w.tokens(thought+"<tool_call>\n{\"name\": \""+name+"\", \"arguments\": "+arguments+"}\n</tool_call><|im_end|>", true)
	w.observe("tool", result)
}

func (w *writer) answer(v int) {
	text := w.d.text(fmt.Sprintf("<answer>%d</answer>", v))
	w.r.Messages = append(w.r.Messages, metrics.Message{Node: len(w.r.Nodes) - 1, Role: "assistant", Text: text})
	w.tokens(text+"<|im_end|>", true)
}

// tokens appends text; where it was sampled, most tokens are nearly certain and a few are decisions.
func (w *writer) tokens(text string, sampled bool) {
	t := &w.r.Tokens
	for _, piece := range splitter.FindAllString(strings.ToValidUTF8(text, "\ufffd"), -1) {
		id, known := w.d.ids[piece]
		if !known {
			id = int32(len(w.d.ids))
			w.d.ids[piece] = id
		}
		var gen float64
		var version int64
		if sampled {
			version = w.version
			gen = -0.004 * math.Exp(1.5*w.d.rng.NormFloat64())
			if w.d.rng.Float64() < 0.12 {
				gen = -1.8 * w.d.rng.Float64()
			}
		}
		t.ID, t.Piece = append(t.ID, id), append(t.Piece, piece)
		t.Node = t.Node.Repeat(len(w.r.Nodes)-1, 1)
		t.Sampled, t.Action = t.Sampled.Repeat(sampled, 1), t.Action.Repeat(false, 1)
		t.Version, t.LogpGen = t.Version.Repeat(version, 1), append(t.LogpGen, float32(gen))
	}
}

// advantages compares the rollouts of a group: (reward − mean) / (deviation + 1e-4).
func advantages(group []played) {
	var rewards []float64
	for _, p := range group {
		if p.kept.Graded {
			rewards = append(rewards, p.kept.Reward)
		}
	}
	dist := metrics.Describe(rewards)
	for _, p := range group {
		switch {
		case !p.kept.Graded:
		case dist.Std == 0:
			p.kept.Filtered = "every reward is equal: no signal"
		default:
			p.kept.Advantage = new((p.kept.Reward - dist.Mean) / (dist.Std + 1e-4))
		}
	}
}

// train gives the action tokens their numbers: log-probs that moved, and a contribution to the loss.
func (d *run) train(batch []played, step int) {
	total, loss := 0, 0.0
	for _, p := range batch {
		if p.kept.Advantage != nil {
			for i, s := range p.kept.Tokens.Sampled {
				p.kept.Tokens.Action[i] = s
			}
			total += p.kept.Tokens.Actions()
		}
	}
	for i := range batch {
		d.update(&batch[i], total)
		if share := batch[i].kept.LossShare; share != nil {
			loss += *share
		}
	}
	for _, p := range batch {
		if p.kept.LossShare != nil {
			p.kept.StepLoss = new(loss)
			p.kept.Lag = int64(step-1) - p.kept.Tokens.Version[len(p.kept.Tokens.Version)-1]
		}
	}
}

func (d *run) update(p *played, total int) {
	t := &p.kept.Tokens
	n := t.Len()
	t.LogpOld, t.LogpNew = make([]float32, n), make([]float32, n)
	for i := range n {
		t.LogpOld[i], t.LogpNew[i] = t.LogpGen[i], t.LogpGen[i]
	}
	if p.kept.Advantage == nil {
		return
	}
	t.Loss = make([]float32, n)
	var share float64
	for i := range n {
		var advantage float32
		clipped := false
		if t.Action[i] {
			if d.Async {
				t.LogpOld[i] = min(0, t.LogpGen[i]+float32(0.02*d.rng.NormFloat64()))
			}
			shift := 0.05 * *p.kept.Advantage * d.rng.Float64() * math.Abs(float64(t.LogpOld[i]))
			t.LogpNew[i] = min(0, t.LogpOld[i]+float32(shift+0.01*d.rng.NormFloat64()*float64(t.LogpOld[i])))
			advantage = float32(*p.kept.Advantage)
			ratio := t.Ratio(i)
			clipped = math.Abs(ratio-1) > 0.04
			t.Loss[i] = float32(-*p.kept.Advantage * min(max(ratio, 0.96), 1.04) / float64(total))
			share += float64(t.Loss[i])
			p.change += math.Abs(float64(t.LogpNew[i]-t.LogpOld[i])) / float64(t.Actions())
		}
		t.Advantage = t.Advantage.Repeat(advantage, 1)
		t.Clipped = t.Clipped.Repeat(clipped, 1)
	}
	p.kept.LossShare = &share
}

func (d *run) keep(step int, split string, batch []played) {
	var candidates []metrics.Candidate
	for _, p := range batch {
		candidates = append(candidates, metrics.Candidate{Group: p.kept.Group, Sample: p.kept.Sample, Graded: p.kept.Graded,
			Reward: p.kept.Reward, Change: p.change, Alarm: p.alarm, Fill: func() *metrics.RolloutKept { return p.kept }})
	}
	d.keeper.Keep(int64(step), split, d.Steps+d.Steps/4+1-step, candidates)
}

// step describes the batch.
func (d *run) step(step int, batch []played) metrics.StepDone {
	var rewards, turns, tokens, lags []float64
	outcomes, filtered := map[string]int{}, map[string]int{}
	var loss float64
	var generated, trained int64
	for i, p := range batch {
		outcomes[p.kept.Outcome]++
		if p.kept.Filtered != "" && i%samples == 0 {
			filtered["no signal"]++
		}
		sampled := 0
		for _, s := range p.kept.Tokens.Sampled {
			if s {
				sampled++
			}
		}
		generated += int64(sampled)
		if p.kept.Graded {
			rewards = append(rewards, p.kept.Reward)
			turns, tokens = append(turns, float64(p.kept.Turns())), append(tokens, float64(sampled))
		}
		if p.kept.LossShare != nil {
			loss += *p.kept.LossShare
			trained += int64(p.kept.Tokens.Actions())
			for range p.kept.Tokens.Actions() {
				lags = append(lags, float64(p.kept.Lag))
			}
		}
	}
	t := float64(step) / float64(d.Steps)
	e := metrics.StepDone{Step: int64(step), Version: int64(step), Groups: groups, Filtered: filtered, Outcomes: outcomes,
		Reward: metrics.Describe(rewards), Turns: metrics.Describe(turns), ActionTokens: metrics.Describe(tokens), Lag: metrics.Describe(lags),
		Loss: loss, Info: map[string]float64{"lookups": 2 + 0.1*d.rng.NormFloat64()}, Entropy: new(0.31 - 0.19*t + 0.01*d.rng.NormFloat64()), Ratio: &metrics.Divergence{K1: 1e-4, K3: 2e-4 * math.Exp(0.5*d.rng.NormFloat64()), Max: 0.09},
		Mismatch: &metrics.Divergence{}, ClipFraction: new(0.001 * d.rng.Float64()), ESS: new(1.0),
		GradNorm: 0.6 * math.Exp(0.3*d.rng.NormFloat64()), LearningRate: 7e-4 * (1 - 0.9*t), Generated: generated, Trained: trained,
		GeneratedPerSec: 10500 + 400*d.rng.NormFloat64(), TrainedPerSec: 12500 + 500*d.rng.NormFloat64(),
		Seconds:     map[string]float64{"generate": 0.84, "score": 0.12, "train": 0.55, "publish": 0.01},
		WallSeconds: 1.6, Idle: 0.04 + 0.02*d.rng.Float64()}
	if d.Async {
		e.Mismatch = &metrics.Divergence{K1: 1e-5, K3: 2.1e-4 * math.Exp(0.2*d.rng.NormFloat64()), Max: 0.08}
		e.ESS = new(0.996 - 0.002*d.rng.Float64())
	}
	return e
}
