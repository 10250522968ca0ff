// A run as plain text: the terminal twin of the report's first page. Every text from outside is cleaned.

package metrics

import (
	"fmt"
	"strings"
	"time"
)

// Summary describes a run in lines of at most width cells: how it was started, what it reached, its curves, its alarms and
// what was kept of it.
func Summary(records []Record, width int) string {
	s := sheet{width: width}
	s.header(records)
	s.evaluations(records)
	s.curves(records)
	s.alarms(records)
	s.kept(records)
	return s.String()
}

// sheet is text under construction.
type sheet struct {
	width int
	text  strings.Builder
}

func (s *sheet) String() string { return s.text.String() }

// line adds one line of clean text, cut to the width.
func (s *sheet) line(format string, args ...any) {
	s.text.WriteString(strings.TrimRight(fit(fmt.Sprintf(format, args...), s.width), " ") + "\n")
}

// para adds clean text, wrapped, each line behind the same margin.
func (s *sheet) para(margin, text string) {
	for _, l := range wrap(text, max(20, s.width-columns(margin))) {
		s.line("%s%s", margin, l)
	}
}

// pair adds a named fact.
func (s *sheet) pair(name, format string, args ...any) {
	lines := wrap(fmt.Sprintf(format, args...), max(20, s.width-14))
	s.line("  %-11s %s", name, lines[0])
	for _, l := range lines[1:] {
		s.line("  %-11s %s", "", l)
	}
}

func (s *sheet) header(records []Record) {
	start, ok := Last[RunStarted](records)
	if !ok {
		s.line("This run has no start event: nothing ran, or another program wrote the file.")
		return
	}
	s.line("%s  %s  %s", Clean(start.Name), Clean(start.Method), Clean(ending(records)))
	s.pair("command", "%s", Clean(start.Command))
	m := start.Model
	s.pair("model", "%s, %s parameters, vocabulary %d, context %d tokens", Clean(m.Name), count(float64(m.Params)), m.Vocab, m.Context)
	c := start.Machine
	s.pair("machine", "%s", Clean(fmt.Sprintf("%s/%s, %s, %s, %s, %s, %s", c.OS, c.Arch, c.CPU, plural(c.Cores, "core"),
		plural(c.Threads, "thread"), size(c.MemoryBytes), c.Kernels)))
	s.pair("build", "%s", Clean(strings.Join(start.Build.words(), ", ")))
	s.pair("seed", "%d", start.Seed)
	s.pair("config", "%s", Clean(start.ConfigDigest))
	for r, e := range Of[RunStarted](records) {
		if e.ResumedFrom != "" {
			s.pair("resumed", "leg %d at %s from %s", r.Leg, r.Time.Format(time.DateTime), Clean(e.ResumedFrom))
		}
	}
	if end, ok := Last[RunEnded](records); ok && end.Resume != "" {
		s.pair("resume", "%s", Clean(end.Resume))
	}
}

// ending says how the newest leg ended.
func ending(records []Record) string {
	for i := len(records) - 1; i >= 0; i-- {
		switch e := records[i].Event.(type) {
		case RunEnded:
			text := e.Outcome + " after " + clock(seconds(e.Seconds))
			if e.Reason != "" {
				text += ": " + e.Reason
			}
			return text
		case RunStarted:
			return "running, or killed after " + clock(records[len(records)-1].Time.Sub(records[i].Time))
		}
	}
	return ""
}

func (b Build) words() []string {
	words := []string{"molt " + b.Molt}
	if b.Git != "" {
		git := "git " + b.Git
		if b.Dirty {
			git += " with changes"
		}
		words = append(words, git)
	}
	return append(words, b.Go)
}

func (s *sheet) evaluations(records []Record) {
	first := map[string]EvalDone{}
	best := map[string]EvalDone{}
	last := map[string]EvalDone{}
	var names []string
	for _, e := range Of[EvalDone](records) {
		name := e.Name + ", " + decodingWords(e.Temperature)
		if _, seen := first[name]; !seen {
			names, first[name], best[name] = append(names, name), e, e
		}
		if e.PassAt1 > best[name].PassAt1 {
			best[name] = e
		}
		last[name] = e
	}
	for i, name := range names {
		if i == 0 {
			s.line("")
			s.line("evaluations")
		}
		f, l, b := first[name], last[name], best[name]
		s.line("  %s %8s at step %d, %8s at step %d, best %s at step %d", pad(Clean(name), 28),
			percent(f.PassAt1), f.Step, percent(l.PassAt1), l.Step, percent(b.PassAt1), b.Step)
	}
}

func (s *sheet) curves(records []Record) {
	all := AllSeries(records)
	if len(all) == 0 {
		return
	}
	s.line("")
	s.line("%-34s %10s %10s %10s %10s", "curves", "first", "last", "lowest", "highest")
	for _, c := range all {
		var values []float64
		for _, r := range records {
			if v, ok := c.Value(r.Event); ok {
				values = append(values, v)
			}
		}
		low, high := extremes(values)
		s.line("  %s %10s %10s %10s %10s  %s", pad(Clean(c.Name), 32), number(values[0]), number(values[len(values)-1]),
			number(low), number(high), spark(values, max(0, s.width-80), true))
	}
}

// extremes are NaN when no value is finite.
func extremes(values []float64) (low, high float64) {
	d := Describe(finite(values))
	if d.N == 0 {
		return values[0], values[0]
	}
	return d.Min, d.Max
}

func (s *sheet) alarms(records []Record) {
	s.line("")
	s.line("alarms")
	n := 0
	for _, a := range Of[Alarm](records) {
		n++
		s.para("  ", fmt.Sprintf("%s %s at step %d: %s", a.Severity.word(), Clean(a.Name), a.Step, Clean(a.Sentence)))
		if a.Fix != "" {
			s.para("    fix: ", Clean(a.Fix))
		}
	}
	if n == 0 {
		s.line("  none")
	}
}

func (s *sheet) kept(records []Record) {
	k := KeptTotal(records)
	if k.Offered == 0 {
		return
	}
	s.line("")
	s.line("kept rollouts")
	s.para("  ", fmt.Sprintf("%d of %d finished rollouts are stored, %s of a budget of %s.", k.Kept, k.Offered, size(k.Bytes), size(k.Budget)))
	if t := tally(k.LeftOut); t != "" {
		s.para("  ", "Left out: "+t+".")
	}
	s.para("  ", KeepRule)
}

// Keeping says how much of a run was kept.
type Keeping struct {
	Offered int            `json:"offered"` // rollouts that finished
	Kept    int            `json:"kept"`
	LeftOut map[string]int `json:"left_out"` // by reason
	Bytes   int64          `json:"bytes"`
	Budget  int64          `json:"budget_bytes"`
}

// KeptTotal adds up what the events say was kept.
func KeptTotal(records []Record) Keeping {
	k := Keeping{LeftOut: map[string]int{}}
	for _, e := range Of[RolloutsKept](records) {
		k.Offered, k.Kept, k.Budget = k.Offered+e.Offered, k.Kept+len(e.Kept), e.Budget
		for _, ref := range e.Kept {
			k.Bytes += ref.Bytes
		}
		for reason, n := range e.LeftOut {
			k.LeftOut[reason] += n
		}
	}
	return k
}
