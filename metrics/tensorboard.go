// The TensorBoard sink: every curve as a scalar under the name it has in events.jsonl, distributions as histograms,
// the configuration, notes and alarms as text.

package metrics

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// TensorBoard writes event files that TensorBoard reads, in two folders that it shows as two runs, because their steps
// count different things: "sft" for supervised fine-tuning, "run" for all else. It implements Sink and Replayer.
type TensorBoard struct {
	dir   string
	files map[string]*os.File // by folder; one is opened by its first event, whose time names it
	next  map[string]int64    // by folder, where a resumed run continues; nil for a new run
}

// NewTensorBoard writes into folders of dir, which it makes when they are needed.
func NewTensorBoard(dir string) *TensorBoard {
	return &TensorBoard{dir: dir, files: map[string]*os.File{}}
}

// Name implements Sink.
func (t *TensorBoard) Name() string { return "TensorBoard" }

// Replay implements Replayer. Each leg writes files of its own, so the history is there already; it tells which
// later steps TensorBoard should forget.
func (t *TensorBoard) Replay(history []Record) error {
	t.next = map[string]int64{}
	for _, r := range history {
		if step, ok := StepOf(r.Event); ok {
			t.next[folderOf(r.Event)] = step + 1
		}
	}
	return nil
}

// Write implements Sink.
func (t *TensorBoard) Write(r Record) error {
	summary := summaryOf(r.Event)
	if len(summary) == 0 {
		return nil
	}
	folder := folderOf(r.Event)
	if t.files[folder] == nil {
		if err := t.open(folder, r); err != nil {
			return err
		}
	}
	step, _ := StepOf(r.Event)
	return t.append(folder, tbEvent(wallTime(r), step).bytes(5, summary))
}

func folderOf(e Event) string {
	if _, ok := e.(SFTStep); ok {
		return "sft"
	}
	return "run"
}

// open creates a file that sorts after those of earlier legs. In a resumed run its first word is
// SessionLog{status = START}: TensorBoard drops what it knows of that step and later ones.
func (t *TensorBoard) open(folder string, r Record) error {
	dir := filepath.Join(t.dir, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := fmt.Sprintf("events.out.tfevents.%010d.molt.%d.%d", r.Time.Unix(), r.Leg, r.Seq)
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	t.files[folder] = f
	if err := t.append(folder, tbEvent(wallTime(r), 0).string(3, "brain.Event:2")); err != nil || t.next == nil {
		return err
	}
	const start = 1
	return t.append(folder, tbEvent(wallTime(r), t.next[folder]).bytes(7, message(nil).varint(1, start)))
}

// append writes one record, to the file at once: an event is never half a record behind.
func (t *TensorBoard) append(folder string, event message) error {
	_, err := t.files[folder].Write(frame(nil, event))
	return err
}

// Close implements Sink.
func (t *TensorBoard) Close() error {
	var errs []error
	for _, folder := range slices.Sorted(maps.Keys(t.files)) {
		errs = append(errs, t.files[folder].Close())
	}
	return errors.Join(errs...)
}

func wallTime(r Record) float64 { return float64(r.Time.UnixMilli()) / 1000 }

// summaryOf is Summary{value = 1, repeated} for one event; empty when there is nothing to draw.
func summaryOf(e Event) message {
	var m message
	add := func(value message) { m = m.bytes(1, value) }
	for _, s := range seriesOf(e) {
		if v, ok := s.Value(e); ok {
			add(tbScalar(tag(s.Name), v))
		}
	}
	switch e := e.(type) {
	case StepDone:
		for _, h := range []struct {
			name string
			dist Dist
		}{{"reward", e.Reward}, {"turns", e.Turns}, {"action_tokens", e.ActionTokens}, {"lag", e.Lag}} {
			if len(h.dist.Counts) > 0 {
				add(tbHistogram("distribution/"+h.name, h.dist))
			}
		}
	case RunStarted:
		add(tbText("run/config", "```yaml\n"+e.Config+"\n```"))
		add(tbText("run/command", "    "+e.Command))
	case Alarm:
		add(tbText("alarm/"+e.Name, e.Sentence))
	case Note:
		add(tbText("run/notes", e.Text))
	}
	return m
}

func seriesOf(e Event) []Series {
	switch e := e.(type) {
	case EvalDone:
		return EvalSeries(e.Name, e.Temperature)
	case StepDone:
		all := slices.Clone(StepSeries)
		for _, name := range slices.Sorted(maps.Keys(e.Info)) {
			all = append(all, InfoSeries(name))
		}
		return all
	}
	return StepSeries
}

// tag spells a name as TensorBoard does: the first level is the group of charts.
func tag(name string) string {
	if group, rest, ok := strings.Cut(name, "."); ok {
		return group + "/" + strings.ReplaceAll(rest, ".", "/")
	}
	return "train/" + name
}
