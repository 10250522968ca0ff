// What the page is given: the run as columns of numbers, so that a long run stays small.

package web

import (
	"cmp"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"time"

	"molt/metrics"
)

// maxPoints is the most points of a curve that are drawn.
const maxPoints = 2000

// data is the JSON in the file.
type data struct {
	Run         metrics.RunStarted `json:"run"` // of the newest leg
	Outcome     string             `json:"outcome"`
	Reason      string             `json:"reason"`
	Resume      string             `json:"resume"`
	Started     time.Time          `json:"started"`
	Seconds     float64            `json:"seconds"` // that some leg worked, without the time between legs
	Legs        []mark             `json:"legs"`
	Checkpoints []mark             `json:"checkpoints"`
	Alarms      []mark             `json:"alarms"`
	Notes       []mark             `json:"notes"`
	Evals       []mark             `json:"evals"`
	Axes        map[string]*axis   `json:"axes"`
	Series      []curve            `json:"series"`
	Totals      totals             `json:"totals"`
	Unknown     int                `json:"unknown"` // events of kinds that this program does not know
	Rule        string             `json:"rule"`
	Keeping     metrics.Keeping    `json:"keeping"`
	Omitted     int                `json:"omitted"` // kept rollouts that did not fit into the file
	Rollouts    []jsontext.Value   `json:"rollouts"`
}

// place is where in the run an event happened.
type place struct {
	Seq     int64   `json:"seq"`
	Leg     int     `json:"leg"`
	Phase   string  `json:"phase"` // "sft" or "rl"
	Step    int64   `json:"step"`
	Tokens  int64   `json:"tokens"`  // trained so far
	Seconds float64 `json:"seconds"` // worked so far
}

// mark is an event at its place.
type mark struct {
	place
	Time  time.Time     `json:"time"`
	Event metrics.Event `json:"event"`
}

// axis holds the places of the points of some curves.
type axis struct {
	Phase   string    `json:"phase"`
	Every   int       `json:"every"` // 1, or how many points each one stands for
	Seq     []int64   `json:"seq"`
	Step    []int64   `json:"step"`
	Tokens  []int64   `json:"tokens"`
	Seconds []float64 `json:"seconds"`
}

// curve is a series over its axis.
type curve struct {
	Name  string     `json:"name"`
	Title string     `json:"title"`
	Unit  string     `json:"unit"`
	About string     `json:"about"`
	Axis  string     `json:"axis"`
	Y     []*float64 `json:"y"` // nil where the event does not have it
}

// totals count over the whole run.
type totals struct {
	Steps     int64              `json:"steps"`
	SFTSteps  int64              `json:"sft_steps"`
	Groups    int                `json:"groups"`
	Filtered  map[string]int     `json:"filtered"`
	Outcomes  map[string]int     `json:"outcomes"`
	Dropped   map[string]int     `json:"dropped"`
	Generated int64              `json:"generated_tokens"`
	Trained   int64              `json:"trained_tokens"`
	Phases    map[string]float64 `json:"phases"` // seconds
}

func newData(records []metrics.Record) *data {
	d := &data{
		Axes: map[string]*axis{}, Rule: metrics.KeepRule, Keeping: metrics.KeptTotal(records), Rollouts: []jsontext.Value{},
		Totals: totals{Filtered: map[string]int{}, Outcomes: map[string]int{}, Dropped: map[string]int{}, Phases: map[string]float64{}},
		Legs:   []mark{}, Checkpoints: []mark{}, Alarms: []mark{}, Notes: []mark{}, Evals: []mark{}, Series: []curve{},
	}
	places := d.walk(records)
	for _, s := range metrics.AllSeries(records) {
		d.addSeries(s, records, places)
	}
	return d
}

// walk takes every event once and says where each happened.
func (d *data) walk(records []metrics.Record) []place {
	places := make([]place, len(records))
	var now place
	for i, r := range records {
		if i == 0 {
			d.Started = r.Time
		} else if last := records[i-1]; last.Leg == r.Leg {
			now.Seconds += max(0, r.Time.Sub(last.Time).Seconds())
		}
		now.Seq, now.Leg = r.Seq, r.Leg
		d.take(r, &now)
		places[i] = now
	}
	d.Seconds = now.Seconds
	return places
}

// take adds one event to what the page is told, and moves now.
func (d *data) take(r metrics.Record, now *place) {
	var list *[]mark
	switch e := r.Event.(type) {
	case metrics.RunStarted:
		d.Run, d.Outcome, d.Reason, d.Resume = e, "unfinished", "", ""
		list = &d.Legs
	case metrics.RunEnded:
		d.Outcome, d.Reason, d.Resume = e.Outcome, e.Reason, e.Resume
	case metrics.SFTStep:
		now.Phase, now.Step, now.Tokens = "sft", e.Step, now.Tokens+e.Trained
		d.Totals.SFTSteps = e.Step
	case metrics.StepDone:
		now.Phase, now.Step, now.Tokens = "rl", e.Step, now.Tokens+e.Trained
		d.Totals.add(e)
	case metrics.EvalDone:
		now.Step = e.Step
		if d.Run.Plan.Steps > 0 {
			now.Phase = "rl" // the evaluation at step 0 comes after the last SFT step
		}
		list = &d.Evals
	case metrics.CheckpointSaved:
		list = &d.Checkpoints
	case metrics.Alarm:
		list = &d.Alarms
	case metrics.Note:
		list = &d.Notes
	case metrics.Unknown:
		d.Unknown++
	}
	if list != nil {
		*list = append(*list, mark{*now, r.Time, r.Event})
	}
}

func (t *totals) add(e metrics.StepDone) {
	t.Steps++
	t.Groups += e.Groups
	t.Generated += e.Generated
	t.Trained += e.Trained
	for reason, n := range e.Filtered {
		t.Filtered[reason] += n
	}
	for outcome, n := range e.Outcomes {
		t.Outcomes[outcome] += n
	}
	for reason, n := range e.Dropped {
		t.Dropped[reason] += n
	}
	for phase, s := range e.Seconds {
		t.Phases[phase] += s
	}
}

// addSeries draws a series over the axis of its events: evaluations of one kind share one, and so do all steps of a phase.
func (d *data) addSeries(s metrics.Series, records []metrics.Record, places []place) {
	key := s.Phase
	if s.Phase == (metrics.EvalDone{}).Kind() {
		key = s.Name // an evaluation has few points
	}
	var at []int
	for i, r := range records {
		if _, ok := s.Value(r.Event); ok || key == s.Phase && r.Event.Kind() == s.Phase {
			at = append(at, i)
		}
	}
	every := (len(at) + maxPoints - 1) / maxPoints
	at = thin(at, every)
	if d.Axes[key] == nil {
		d.Axes[key] = newAxis(at, every, places)
	}
	c := curve{Name: s.Name, Title: s.Title, Unit: s.Unit, About: s.About, Axis: key}
	for _, i := range at {
		if v, ok := s.Value(records[i].Event); ok {
			c.Y = append(c.Y, &v)
		} else {
			c.Y = append(c.Y, nil)
		}
	}
	d.Series = append(d.Series, c)
}

// thin keeps every n-th index, and the last.
func thin(at []int, n int) []int {
	if n <= 1 {
		return at
	}
	var kept []int
	for i, index := range at {
		if i%n == 0 || i == len(at)-1 {
			kept = append(kept, index)
		}
	}
	return kept
}

func newAxis(at []int, every int, places []place) *axis {
	a := &axis{Every: every}
	for _, i := range at {
		p := places[i]
		a.Phase = p.Phase
		a.Seq, a.Step = append(a.Seq, p.Seq), append(a.Step, p.Step)
		a.Tokens, a.Seconds = append(a.Tokens, p.Tokens), append(a.Seconds, p.Seconds)
	}
	return a
}

// addRollouts takes rollouts, the most telling first, until the file has no room for the next one.
func (d *data) addRollouts(rollouts []*metrics.RolloutKept, room int64) error {
	order := make([]int, len(rollouts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(rollouts[a]), rank(rollouts[b])) })
	texts := make([][]byte, len(rollouts))
	for _, i := range order {
		text, err := metrics.Encode(rollouts[i])
		if err != nil {
			return fmt.Errorf("web: encode rollout %v: %w", rollouts[i].Ref(), err)
		}
		if size := int64(len(inert(text)) + 1); size <= room {
			texts[i], room = text, room-size
		} else {
			d.Omitted++
		}
	}
	for _, text := range texts {
		if text != nil {
			d.Rollouts = append(d.Rollouts, text)
		}
	}
	return nil
}

// rank orders rollouts by the part of the rule that kept them; the smallest is the most telling.
func rank(r *metrics.RolloutKept) int {
	parts := []string{metrics.KeptEvidence, metrics.KeptBest, metrics.KeptWorst, metrics.KeptChanged, metrics.KeptFailed,
		metrics.KeptMedian, metrics.KeptGroup, metrics.KeptNewest}
	for i, part := range parts {
		if slices.Contains(r.Why, part) {
			return i
		}
	}
	return len(parts)
}
