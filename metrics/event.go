// The envelope of every event, and the list of the kinds there are. One event is one line of events.jsonl:
//
//	{"seq":12,"time":"2026-11-30T18:25:03.120Z","leg":1,"kind":"step_done","data":{"step":3, …},"crc":"9a3f00c1"}

package metrics

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"iter"
	"time"
)

// Event is one thing that happened in a run: one of the structs of this package, by value.
type Event interface {
	Kind() string // its name in events.jsonl
}

// Record is an event, numbered and dated.
type Record struct {
	Seq   int64     // 1, 2, 3, … in the run; gaps are possible, repeats are not
	Time  time.Time // wall clock, UTC, to the millisecond
	Leg   int       // which process of the run wrote it: 1 for the first, one more for each resume
	Event Event
}

// Of walks the events of one type, oldest first.
func Of[E Event](records []Record) iter.Seq2[Record, E] {
	return func(yield func(Record, E) bool) {
		for _, r := range records {
			if e, ok := r.Event.(E); ok && !yield(r, e) {
				return
			}
		}
	}
}

// Last finds the newest event of one type; ok is false when there is none.
func Last[E Event](records []Record) (last E, ok bool) {
	for _, e := range Of[E](records) {
		last, ok = e, true
	}
	return last, ok
}

// kinds says how to read each kind of event back.
var kinds = map[string]func(jsontext.Value) (Event, error){
	RunStarted{}.Kind():      read[RunStarted],
	SFTStep{}.Kind():         read[SFTStep],
	StepDone{}.Kind():        read[StepDone],
	EvalDone{}.Kind():        read[EvalDone],
	CheckpointSaved{}.Kind(): read[CheckpointSaved],
	RolloutsKept{}.Kind():    read[RolloutsKept],
	Alarm{}.Kind():           read[Alarm],
	Note{}.Kind():            read[Note],
	Rewound{}.Kind():         read[Rewound],
	RunEnded{}.Kind():        read[RunEnded],
}

// Unknown is an event of a kind that this program does not know: a newer one wrote it. It is kept and counted.
type Unknown struct {
	Name string
	Data jsontext.Value
}

// Kind implements Event.
func (u Unknown) Kind() string { return u.Name }

func read[E Event](data jsontext.Value) (Event, error) {
	var e E
	err := json.Unmarshal(data, &e, options)
	return e, err
}

// line is a Record as events.jsonl spells it.
type line struct {
	Seq  int64          `json:"seq"`
	Time time.Time      `json:"time"`
	Leg  int            `json:"leg"`
	Kind string         `json:"kind"`
	Data jsontext.Value `json:"data"`
	CRC  string         `json:"crc,omitzero"` // of all before it; see seal.go

	Attempt int `json:"attempt,omitzero"` // Leg, in runs of numeric epoch 1
}

// encode gives the record as one line, with the newline.
func (r Record) encode() ([]byte, error) {
	data, err := json.Marshal(r.Event, options)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", r.Event.Kind(), err)
	}
	text, err := json.Marshal(line{Seq: r.Seq, Time: r.Time, Leg: r.Leg, Kind: r.Event.Kind(), Data: data}, options)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", r.Event.Kind(), err)
	}
	return append(seal(text), '\n'), nil
}

func decode(text []byte) (Record, error) {
	var l line
	if err := json.Unmarshal(text, &l, options, json.RejectUnknownMembers(true)); err != nil {
		return Record{}, err
	}
	r := Record{Seq: l.Seq, Time: l.Time, Leg: max(l.Leg, l.Attempt)}
	if r.Seq < 1 || r.Leg < 1 || l.Kind == "" {
		return Record{}, fmt.Errorf("seq %d, leg %d, kind %q: not an event", r.Seq, r.Leg, l.Kind)
	}
	readKind, known := kinds[l.Kind]
	if !known {
		r.Event = Unknown{l.Kind, l.Data.Clone()}
		return r, nil
	}
	event, err := readKind(l.Data)
	if err != nil {
		return Record{}, fmt.Errorf("%s: %w", l.Kind, err)
	}
	r.Event = event
	return r, nil
}
