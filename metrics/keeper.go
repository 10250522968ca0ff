// The Keeper stores the rollouts that the rule asks for in rollouts.jsonl, and says in an event what it kept and what it
// left out. The event is the index: a line of rollouts.jsonl that no event names is not part of the run.

package metrics

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"os"
)

// Config says how much is kept for people.
type Config struct {
	KeepBytes   int64 // size of rollouts.jsonl over the whole run; 0 keeps nothing. Raise it for long rollouts
	KeepPerStep int   // most rollouts of one step or evaluation. Raise it for groups of more than 12
}

// RolloutsKept says what was kept of a step or an evaluation.
type RolloutsKept struct {
	Step    int64          `json:"step"`
	Split   string         `json:"split"`              // Train or HeldOut
	Offered int            `json:"offered"`            // rollouts that finished
	Kept    []KeptRef      `json:"kept"`               //
	LeftOut map[string]int `json:"left_out,omitempty"` // the others, by reason
	Spent   int64          `json:"spent_bytes"`        // of the budget so far
	Budget  int64          `json:"budget_bytes"`       // for the run
}

// KeptRef finds a rollout in rollouts.jsonl.
type KeptRef struct {
	Group  int64    `json:"group"`
	Sample int      `json:"sample"`
	Why    []string `json:"why"`
	Offset int64    `json:"offset"` // bytes
	Bytes  int64    `json:"bytes"`
	CRC    string   `json:"crc,omitzero"` // of the line, with its newline; "" where an older program wrote it
}

func (RolloutsKept) Kind() string { return "rollouts_kept" } // implements Event

// Reasons for leaving a rollout out.
const (
	LeftByRule   = "not asked for by the rule"
	LeftByCount  = "beyond the number per step"
	LeftByBudget = "beyond the step's share of the budget"
	LeftByFault  = "could not be stored"
)

// Keeper writes rollouts.jsonl. One goroutine uses it.
type Keeper struct {
	log    *Log
	config Config
	file   *os.File
	size   int64 // where the next rollout goes
	spent  int64 // of the budget
	failed bool  // the one alarm was raised
}

// OpenKeeper opens rollouts.jsonl. history is what Resume gives, nil for a new run: what it
// does not name is cut off.
func OpenKeeper(path string, log *Log, config Config, history []Record) (*Keeper, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("metrics: open kept rollouts: %w", err)
	}
	k := &Keeper{log: log, config: config, file: f}
	for _, e := range Of[RolloutsKept](history) {
		for _, ref := range e.Kept {
			k.size, k.spent = max(k.size, ref.Offset+ref.Bytes), k.spent+ref.Bytes
		}
	}
	info, err := f.Stat()
	if err == nil {
		k.size = min(k.size, info.Size())
		err = f.Truncate(k.size)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("metrics: open kept rollouts: %w", err), f.Close())
	}
	return k, nil
}

// Keep stores what the rule asks for of the finished rollouts of a step or an evaluation, and emits RolloutsKept. left is
// how many more calls the run will make, 0 when that is not known: it spreads the budget over the run.
func (k *Keeper) Keep(step int64, split string, left int, candidates []Candidate) {
	event := RolloutsKept{Step: step, Split: split, Offered: len(candidates), Kept: []KeptRef{}, LeftOut: map[string]int{}}
	choices := choose(candidates)
	event.leave(LeftByRule, len(candidates)-len(choices))
	share := k.share(left)
	for _, c := range choices {
		k.keepOne(&event, candidates[c.index], c.why, &share)
	}
	event.Spent, event.Budget = k.spent, k.config.KeepBytes
	k.log.Emit(event)
}

func (e *RolloutsKept) leave(reason string, n int) {
	if n > 0 {
		e.LeftOut[reason] += n
	}
}

// share is what one call may spend, in bytes. Evidence may use all that is left.
func (k *Keeper) share(left int) int64 {
	const unknown = 20
	if left <= 0 {
		left = unknown
	}
	return (k.config.KeepBytes - k.spent) / int64(left)
}

func (k *Keeper) keepOne(event *RolloutsKept, c Candidate, why []string, share *int64) {
	limit := *share
	if c.Alarm != "" {
		limit = k.config.KeepBytes - k.spent
	}
	if len(event.Kept) >= k.config.KeepPerStep {
		event.leave(LeftByCount, 1)
		return
	}
	if limit <= 0 {
		event.leave(LeftByBudget, 1)
		return
	}
	text, err := encodeRollout(c, why)
	switch {
	case err != nil:
		event.leave(LeftByFault, 1)
		k.alarm(err)
	case int64(len(text)) > limit:
		event.leave(LeftByBudget, 1)
	default:
		*share -= int64(len(text))
		k.store(event, c, why, text)
	}
}

func encodeRollout(c Candidate, why []string) ([]byte, error) {
	r := c.Fill()
	r.Why, r.Alarm = why, c.Alarm
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if r.Group != c.Group || r.Sample != c.Sample {
		return nil, fmt.Errorf("metrics: asked for group %d sample %d, got %v", c.Group, c.Sample, r.Ref())
	}
	text, err := json.Marshal(r, options)
	if err != nil {
		return nil, fmt.Errorf("metrics: encode group %d sample %d: %w", c.Group, c.Sample, err)
	}
	return append(text, '\n'), nil
}

func (k *Keeper) store(event *RolloutsKept, c Candidate, why []string, text []byte) {
	if _, err := k.file.WriteAt(text, k.size); err != nil {
		event.leave(LeftByFault, 1)
		k.alarm(fmt.Errorf("metrics: write kept rollouts: %w", err))
		return
	}
	event.Kept = append(event.Kept, KeptRef{c.Group, c.Sample, why, k.size, int64(len(text)), checksum(text)})
	k.size += int64(len(text))
	k.spent += int64(len(text))
}

func (k *Keeper) alarm(err error) {
	if k.failed {
		return
	}
	k.failed = true
	k.log.Emit(Alarm{
		Name:     "rollouts-not-kept",
		Severity: Warning,
		Sentence: fmt.Sprintf("%v; training goes on, but the report misses rollouts", err),
		Fix:      "free the disk or fix the folder's permissions",
	})
}

// Close ends the file.
func (k *Keeper) Close() error {
	if err := errors.Join(k.file.Sync(), k.file.Close()); err != nil {
		return fmt.Errorf("metrics: close kept rollouts: %w", err)
	}
	return nil
}

// ReadRollouts reads the kept rollouts that the events name. What can be read is returned even when the error, which
// names the others, is not nil.
func ReadRollouts(path string, records []Record) ([]*RolloutKept, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("metrics: read kept rollouts: %w", err)
	}
	defer f.Close()
	var rollouts []*RolloutKept
	var errs []error
	for _, e := range Of[RolloutsKept](records) {
		for _, ref := range e.Kept {
			r, err := readRollout(f, e, ref)
			if err != nil {
				errs = append(errs, fmt.Errorf("metrics: read %s: line %d, step %d group %d sample %d: %w", path, lineAt(f, ref.Offset), e.Step, ref.Group, ref.Sample, err))
				continue
			}
			rollouts = append(rollouts, r)
		}
	}
	return rollouts, errors.Join(errs...)
}

// maxRollout is the longest line of rollouts.jsonl that is read, in bytes.
const maxRollout = 256 << 20

func readRollout(f io.ReaderAt, e RolloutsKept, ref KeptRef) (*RolloutKept, error) {
	if ref.Bytes < 1 || ref.Bytes > maxRollout || ref.Offset < 0 {
		return nil, fmt.Errorf("%d bytes at %d", ref.Bytes, ref.Offset)
	}
	// The file may be shorter than the event claims: read before believing the size.
	text, err := io.ReadAll(io.NewSectionReader(f, ref.Offset, ref.Bytes))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) != ref.Bytes || !bytes.HasSuffix(text, []byte("\n")) {
		return nil, errors.New("the line is not there as its event says")
	}
	if is := checksum(text); ref.CRC != "" && is != ref.CRC {
		return nil, fmt.Errorf("its checksum is %s where its event says %s: something changed it after it was written", is, ref.CRC)
	}
	r := new(RolloutKept)
	if err := json.Unmarshal(text, r, options); err != nil {
		return nil, err
	}
	if r.Ref() != (Ref{e.Step, ref.Group, ref.Sample}) || r.Split != e.Split {
		return nil, fmt.Errorf("the line is %v of %s", r.Ref(), r.Split)
	}
	return r, r.Validate()
}

// lineAt is the number, from 1, of the line that begins at offset.
func lineAt(f io.ReaderAt, offset int64) int {
	n := 1
	buffer := make([]byte, 1<<16)
	for from := int64(0); from < offset; {
		k, err := f.ReadAt(buffer[:min(int64(len(buffer)), offset-from)], from)
		n, from = n+bytes.Count(buffer[:k], []byte("\n")), from+int64(k)
		if err != nil {
			break
		}
	}
	return n
}
