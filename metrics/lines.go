// The plain lines of a run: one for each event that a person wants to keep on the screen or in a log file.

package metrics

import (
	"fmt"
	"strings"
	"time"
)

func (p *progress) started(e RunStarted) []string {
	line := fmt.Sprintf("%s: %s, %s parameters, seed %d, %s, %s", Clean(e.Name), Clean(e.Method),
		count(float64(e.Model.Params)), e.Seed, Clean(e.Machine.CPU), plural(e.Machine.Threads, "thread"))
	if e.ResumedFrom != "" {
		line += ", resumed from " + Clean(e.ResumedFrom)
	}
	return []string{line}
}

func (p *progress) sftLine(now time.Time) string {
	e := p.sft
	parts := []string{
		p.stepOf("sft", e.Step, p.plan.SFTSteps),
		"loss " + number(e.Loss), "grad_norm " + number(e.GradNorm), "tokens/s " + count(p.speed[len(p.speed)-1]),
	}
	if e.HeldOut != nil {
		parts = append(parts, "held-out loss "+number(*e.HeldOut))
	}
	return join(parts, p.left(now))
}

func (p *progress) stepLine(now time.Time) string {
	e := p.step
	parts := []string{
		p.stepOf("rl", e.Step, p.plan.Steps),
		"reward " + number(e.Reward.Mean), "loss " + number(e.Loss),
	}
	parts = append(parts, updateCells(e)...)
	if e.Mismatch != nil {
		parts = append(parts, "mismatch kl "+number(e.Mismatch.K3))
	}
	if e.Lag.N > 0 {
		parts = append(parts, "lag "+number(e.Lag.Mean)+" max "+number(e.Lag.Max))
	}
	parts = append(parts,
		"turns "+number(e.Turns.Mean),
		"tokens/s "+count(e.GeneratedPerSec)+" generating "+count(e.TrainedPerSec)+" training",
		fmt.Sprintf("groups %d", e.Groups))
	if t := tally(e.Filtered); t != "" {
		parts = append(parts, "filtered: "+t)
	}
	if t := tally(lost(e)); t != "" {
		parts = append(parts, "lost: "+t)
	}
	return join(parts, p.left(now))
}

func (p *progress) stepOf(phase string, step, steps int64) string {
	if steps == 0 {
		return fmt.Sprintf("%s step %d", phase, step)
	}
	return fmt.Sprintf("%s step %d/%d", phase, step, steps)
}

func (p *progress) evalLine(e EvalDone) string {
	line := fmt.Sprintf("eval %s after step %d: %s of %s, %s", Clean(e.Name), e.Step, percent(e.PassAt1),
		plural(e.N, "rollout"), decodingWords(e.Temperature))
	if e.Samples > 1 {
		line += fmt.Sprintf(", pass@%d %s", e.Samples, percent(e.PassAtK))
	}
	return p.style.paint(colorGood, line)
}

func decodingWords(temperature float64) string {
	if temperature == 0 {
		return "greedy"
	}
	return "temperature " + number(temperature)
}

func (p *progress) saved(e CheckpointSaved) []string {
	if p.style.Live && e.Keep != "best" {
		return nil
	}
	line := fmt.Sprintf("saved %s checkpoint of step %d: %s", Clean(e.Keep), e.Step, Clean(e.Path))
	if e.Score != nil {
		line += ", score " + percent(*e.Score)
	}
	return []string{p.style.paint(colorQuiet, line)}
}

func (p *progress) alarmLines(e Alarm) []string {
	color := colorAlert
	if e.Severity == Critical {
		color = colorBad
	}
	lines := []string{p.style.paint(color, fmt.Sprintf("ALARM %s %s: %s", e.Severity.word(), Clean(e.Name), Clean(e.Sentence)))}
	if e.Fix != "" {
		lines = append(lines, "  fix: "+Clean(e.Fix))
	}
	return lines
}

// word is the severity as it is printed: a file may hold anything.
func (s Severity) word() string { return Clean(string(s)) }

func (p *progress) endLines(e RunEnded) []string {
	line := fmt.Sprintf("%s after %s", Clean(e.Outcome), clock(seconds(e.Seconds)))
	if e.Reason != "" {
		line += ": " + Clean(e.Reason)
	}
	lines := []string{p.style.paint(colorHead, line)}
	if e.Resume != "" {
		lines = append(lines, "resume: "+Clean(e.Resume))
	}
	return lines
}

func join(parts []string, last string) string {
	if last != "" {
		parts = append(parts, last)
	}
	return strings.Join(parts, ", ")
}
