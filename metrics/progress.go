// What a person watching a run sees: a state without clock or terminal. Events go in; lines that stay come out, and at any
// time a block that describes now.

package metrics

import (
	"fmt"
	"strings"
	"time"
)

// progress is the state of the view.
type progress struct {
	style  Style
	plan   Plan
	phase  string // "sft", "rl", or "" before the first step
	done   int64  // steps of the phase
	pace   pace
	quiet  time.Time // until then, no plain line for an SFT step
	reward []float64
	loss   []float64
	speed  []float64
	step   StepDone
	sft    SFTStep
	evals  []EvalDone
	alarms []Alarm
	ended  bool
}

// replay takes the history of a resumed run. It says nothing, and does not count towards the pace.
func (p *progress) replay(history []Record) {
	for _, r := range history {
		p.apply(r)
	}
	p.pace, p.ended = nil, false
}

// apply takes an event and gives the lines that stay on the screen.
func (p *progress) apply(r Record) []string {
	switch e := r.Event.(type) {
	case RunStarted: // perhaps of the run that follows another on the same terminal
		p.plan, p.ended = e.Plan, false
		return p.started(e)
	case SFTStep:
		return p.sftStep(r, e)
	case StepDone:
		return p.stepDone(r, e)
	case EvalDone:
		p.evals = append(p.evals, e)
		return []string{p.evalLine(e)}
	case CheckpointSaved:
		return p.saved(e)
	case Alarm:
		p.alarms = append(p.alarms, e)
		return p.alarmLines(e)
	case Note:
		return cleanLines(e.Text)
	case RunEnded:
		p.ended = true
		return p.endLines(e)
	}
	return nil
}

func (p *progress) sftStep(r Record, e SFTStep) []string {
	p.enter("sft")
	p.sft, p.done, p.loss = e, e.Step, append(p.loss, e.Loss)
	p.speed = append(p.speed, float64(e.Tokens)/max(e.WallSeconds, 1e-9))
	p.pace.ended(e.Step, r.Time)
	// Steps of a small model take milliseconds: one line a second is enough to see it learn.
	if p.style.Live || r.Time.Before(p.quiet) && e.Step != p.plan.SFTSteps && e.HeldOut == nil {
		return nil
	}
	p.quiet = r.Time.Add(time.Second)
	return []string{p.sftLine(r.Time)}
}

func (p *progress) stepDone(r Record, e StepDone) []string {
	p.enter("rl")
	p.step, p.done, p.loss = e, e.Step, append(p.loss, e.Loss)
	p.reward = append(p.reward, e.Reward.Mean)
	p.pace.ended(e.Step, r.Time)
	if p.style.Live {
		return nil
	}
	return []string{p.stepLine(r.Time)}
}

// enter opens a phase: the other one's numbers leave the block.
func (p *progress) enter(phase string) {
	if p.phase != phase {
		p.phase, p.loss, p.reward, p.speed, p.pace = phase, nil, nil, nil, nil
	}
}

func (p *progress) steps() int64 {
	if p.phase == "sft" {
		return p.plan.SFTSteps
	}
	return p.plan.Steps
}

// left is the estimate as people read it, "" when there is none.
func (p *progress) left(now time.Time) string {
	left, ok := p.pace.left(p.steps()-p.done, now)
	if !ok || p.steps() == 0 {
		return ""
	}
	return clock(left) + " left"
}

// block describes now in at most height lines of at most width cells. It is empty before the first step and after the end.
func (p *progress) block(now time.Time, width, height int) []string {
	if p.phase == "" || p.ended {
		return nil
	}
	rows := []string{p.barRow(now, width)}
	if p.phase == "sft" {
		rows = append(rows, p.sftRows(width)...)
	} else {
		rows = append(rows, p.rlRows(width)...)
	}
	if n := len(p.alarms); n > 0 {
		text := fmt.Sprintf(" ! %s, the newest %s at step %d", plural(n, "alarm"), Clean(p.alarms[n-1].Name), p.alarms[n-1].Step)
		rows = append(rows, p.style.paint(colorAlert, fit(text, width)))
	}
	return rows[:min(len(rows), height)]
}

func (p *progress) barRow(now time.Time, width int) string {
	total := p.steps()
	label := fmt.Sprintf(" %s %d", p.phase, p.done)
	if total == 0 {
		return p.style.paint(colorHead, fit(label+" steps", width))
	}
	label += fmt.Sprintf("/%d ", total)
	share := min(1, float64(p.done)/float64(total))
	tail := fmt.Sprintf(" %3.0f %%  %s", 100*share, p.left(now))
	room := min(40, width-columns(label)-columns(tail))
	if room < 4 {
		return p.style.paint(colorHead, fit(label+tail, width))
	}
	full := int(share * float64(room))
	on, off := "━", "─"
	if !p.style.Unicode {
		on, off = "#", "-"
	}
	return p.style.paint(colorHead, label) + p.style.paint(colorBar, strings.Repeat(on, full)) +
		p.style.paint(colorQuiet, strings.Repeat(off, room-full)) + tail
}

func (p *progress) sftRows(width int) []string {
	r := p.row(width, "loss", number(p.sft.Loss), p.loss)
	r.add(colorQuiet, "  gradient "+number(p.sft.GradNorm)+"  learning rate "+number(p.sft.LearningRate))
	s := p.row(width, "tokens/s", count(p.speed[len(p.speed)-1]), p.speed)
	return []string{r.String(), s.String()}
}

func (p *progress) rlRows(width int) []string {
	e := p.step
	reward := p.row(width, "reward", number(e.Reward.Mean), p.reward)
	reward.add("", p.evalCell())
	loss := p.row(width, "loss", number(e.Loss), p.loss)
	loss.add("", "  "+strings.Join(updateCells(e), "  "))
	lag := row{style: p.style, left: width}
	lag.add(colorQuiet, fmt.Sprintf(" %-9s", "lag"))
	lag.add("", padLeft(number(e.Lag.Mean), 9)+" max "+number(e.Lag.Max))
	if e.Mismatch != nil {
		lag.add("", "  mismatch kl "+number(e.Mismatch.K3)+" max "+number(e.Mismatch.Max))
	}
	speed := row{style: p.style, left: width}
	speed.add(colorQuiet, fmt.Sprintf(" %-9s", "tokens/s"))
	speed.add("", padLeft(count(e.GeneratedPerSec), 9)+" generating  "+count(e.TrainedPerSec)+" training")
	speed.add(colorQuiet, fmt.Sprintf("  turns %s  tokens %s a rollout", number(e.Turns.Mean), number(e.ActionTokens.Mean)))
	rows := []string{reward.String(), loss.String(), lag.String(), speed.String()}
	groups := row{style: p.style, left: width}
	groups.add(colorQuiet, fmt.Sprintf(" %-9s", "groups"))
	groups.add("", padLeft(fmt.Sprint(e.Groups), 9)+" taken")
	if t := tally(e.Filtered); t != "" {
		groups.add("", "  filtered: "+t)
	}
	if t := tally(lost(e)); t != "" {
		groups.add(colorAlert, "  lost: "+t)
	}
	return append(rows, groups.String())
}

// row opens a line with a name, a number and a sparkline.
func (p *progress) row(width int, name, value string, values []float64) *row {
	r := &row{style: p.style, left: width}
	r.add(colorQuiet, fmt.Sprintf(" %-9s", name))
	r.add(colorHead, padLeft(value, 9)+" ")
	r.add(colorBar, pad(spark(values, 16, p.style.Unicode), 16))
	return r
}

// evalCell is the newest evaluation that samples, and the best so far of the same kind.
func (p *progress) evalCell() string {
	if len(p.evals) == 0 {
		return ""
	}
	last := p.evals[len(p.evals)-1]
	best := last
	for _, e := range p.evals {
		if e.Name == last.Name && e.Temperature == last.Temperature && e.PassAt1 > best.PassAt1 {
			best = e
		}
	}
	return fmt.Sprintf("  %s %s at %d, best %s at %d", Clean(last.Name), percent(last.PassAt1), last.Step, percent(best.PassAt1), best.Step)
}

// updateCells spell what the update did, as far as it was measured.
func updateCells(e StepDone) []string {
	var cells []string
	if e.Entropy != nil {
		cells = append(cells, "entropy "+number(*e.Entropy))
	}
	if e.Ratio != nil {
		cells = append(cells, "kl "+number(e.Ratio.K3))
	}
	if e.ClipFraction != nil {
		cells = append(cells, "clip "+percent(*e.ClipFraction))
	}
	return cells
}

// lost counts the rollouts that taught nothing for a reason that is not the policy's.
func lost(e StepDone) map[string]int {
	counts := map[string]int{}
	for outcome, n := range e.Outcomes {
		if outcome != "completed" && outcome != "truncated" {
			counts[outcome] += n
		}
	}
	for reason, n := range e.Dropped {
		counts[reason] += n
	}
	return counts
}

// row is a line that never grows beyond its width.
type row struct {
	style Style
	left  int // cells
	text  strings.Builder
}

func (r *row) add(color, text string) {
	text = fit(text, r.left)
	r.left -= columns(text)
	r.text.WriteString(r.style.paint(color, text))
}

func (r *row) String() string { return r.text.String() }
