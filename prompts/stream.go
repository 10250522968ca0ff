// The order in which training sees prompts: sets mixed by weight, each set shuffled anew in each epoch.

package prompts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
)

// Exhausted says what happens when a set of a mix has been shown Config.Epochs times.
type Exhausted string

const (
	// EndEach lets the set leave the mix and goes on with the others: every row is shown exactly Epochs times.
	EndEach Exhausted = "each"
	// EndFirst ends the stream with the first set that is through.
	EndFirst Exhausted = "first"
	// EndAll shows the set again, so that the weights hold, until the last set is through.
	EndAll Exhausted = "all"
)

// Config sets the order.
type Config struct {
	Seed      uint64    // of the shuffles and of Prompt.Seed
	Shuffle   bool      // each epoch of each set in an order of its own; false keeps the order of the file
	Epochs    int64     // times each set is shown; 0 never ends
	Exhausted Exhausted // "" means EndEach
}

// Validate reports everything that is wrong with the settings.
func (c *Config) Validate() error {
	var errs []error
	if c.Epochs < 0 || c.Epochs > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("prompts: Epochs is %d; want 0 (no end) to %d", c.Epochs, math.MaxInt32))
	}
	switch c.Exhausted {
	case "", EndEach, EndFirst, EndAll:
	default:
		errs = append(errs, fmt.Errorf("prompts: Exhausted is %q; want %q, %q or %q", c.Exhausted, EndEach, EndFirst, EndAll))
	}
	return errors.Join(errs...)
}

// Stream deals out the prompts of its sets. It is driven by one goroutine.
type Stream struct {
	c           Config
	sets        []*dealer
	fingerprint string
}

// dealer is a set and how far it has been dealt out.
type dealer struct {
	*Set
	weight float64
	at     Position
	order  []int32 // [rows] of the epoch at.Epoch
}

// Position is how far a set has been shown.
type Position struct {
	Epoch int64 // complete passes
	Row   int   // rows shown in the pass after them, 0 to rows-1
}

// Cursor is how far a stream has been read, as plain data. It fits only a stream of the same sets and settings.
type Cursor struct {
	Fingerprint string     // of the sets' rows, their names and weights, and the settings
	Sets        []Position // in order of the sets
}

// NewStream deals out sets, which must have different names, from the start.
func NewStream(c Config, sets ...*Set) (*Stream, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Exhausted == "" {
		c.Exhausted = EndEach
	}
	if len(sets) == 0 {
		return nil, fmt.Errorf("prompts: a stream without a set")
	}
	s := &Stream{c: c, fingerprint: fingerprint(c, sets)}
	names := map[string]bool{}
	for _, set := range sets {
		if names[set.Name] {
			return nil, fmt.Errorf("prompts: two sets are called %q; give each its own Name", set.Name)
		}
		if set.Len() == 0 {
			return nil, fmt.Errorf("prompts: set %q has no rows", set.Name)
		}
		names[set.Name] = true
		d := &dealer{Set: set, weight: set.weight}
		if d.weight == 0 {
			d.weight = float64(set.Len())
		}
		s.deal(d)
		s.sets = append(s.sets, d)
	}
	return s, nil
}

// Next gives the next prompt; ok is false at the end.
func (s *Stream) Next() (p Prompt, ok bool) {
	d := s.choose()
	if d == nil {
		return Prompt{}, false
	}
	p = d.prompt(int(d.order[d.at.Row]), s.c.Seed, d.at.Epoch)
	if d.at.Row++; d.at.Row == d.Len() {
		d.at = Position{Epoch: d.at.Epoch + 1}
		s.deal(d)
	}
	return p, true
}

// choose picks the set of the next prompt by stride scheduling (Waldspurger, Weihl 1995): the set whose next row falls
// earliest when set i shows its k-th row at time (k + 1/2) / weight_i; the first of them on a tie. After any number of
// rows each set is within one row of its share. nil means the end.
func (s *Stream) choose() *dealer {
	if s.ended() {
		return nil
	}
	var best *dealer
	earliest := math.Inf(1)
	for _, d := range s.sets {
		if s.through(d) && s.c.Exhausted != EndAll {
			continue
		}
		shown := d.at.Epoch*int64(d.Len()) + int64(d.at.Row)
		if at := (float64(shown) + 0.5) / d.weight; best == nil || at < earliest {
			best, earliest = d, at
		}
	}
	return best
}

// through reports whether a set has been shown as often as wanted.
func (s *Stream) through(d *dealer) bool { return s.c.Epochs > 0 && d.at.Epoch >= s.c.Epochs }

func (s *Stream) ended() bool {
	n := 0
	for _, d := range s.sets {
		if s.through(d) {
			n++
		}
	}
	return n == len(s.sets) || (n > 0 && s.c.Exhausted == EndFirst)
}

// deal lays out the order of the set's current epoch.
func (s *Stream) deal(d *dealer) {
	if s.c.Shuffle {
		d.order = shuffled(d.Len(), s.c.Seed, d.Name, d.at.Epoch)
	} else if d.order == nil {
		d.order = inOrder(d.Len())
	}
}

// Cursor says where the stream is.
func (s *Stream) Cursor() Cursor {
	c := Cursor{Fingerprint: s.fingerprint}
	for _, d := range s.sets {
		c.Sets = append(c.Sets, d.at)
	}
	return c
}

// Seek goes to where a cursor was taken.
func (s *Stream) Seek(c Cursor) error {
	if c.Fingerprint != s.fingerprint || len(c.Sets) != len(s.sets) {
		return fmt.Errorf("prompts: the cursor belongs to other prompt sets or settings; go on with the files and options it was taken with")
	}
	for i, d := range s.sets {
		if at := c.Sets[i]; at.Epoch < 0 || at.Epoch > math.MaxInt32 || at.Row < 0 || at.Row >= d.Len() {
			return fmt.Errorf("prompts: the cursor is at epoch %d, row %d of set %q, which has %d rows", at.Epoch, at.Row, d.Name, d.Len())
		}
	}
	for i, d := range s.sets {
		d.at = c.Sets[i]
		s.deal(d)
	}
	return nil
}

// fingerprint identifies everything that the order depends on.
func fingerprint(c Config, sets []*Set) string {
	h := sha256.New()
	writeParts(h, fmt.Sprint(c.Seed, c.Shuffle, c.Epochs, c.Exhausted))
	for _, s := range sets {
		writeParts(h, s.Name, fmt.Sprint(s.weight, len(s.rows)))
		for i := range s.rows {
			p := &s.rows[i]
			writeParts(h, p.ID, p.Input, string(p.Messages), string(p.Tools), p.Label)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
