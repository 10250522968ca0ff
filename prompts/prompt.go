// A prompt, and a set of them.

package prompts

import (
	"crypto/sha256"
	"encoding/json/jsontext"
	"fmt"
	"io"
)

// Prompt is one task from the data.
type Prompt struct {
	ID       string         // unique in its set: the row's own where Keys.ID is set, else the line number
	Source   string         // name of its set
	Input    string         // the task as text; "" when Messages says it
	Messages jsontext.Value // the task as an array of messages, the file's own bytes; nil when Input says it
	Tools    jsontext.Value // array of tool definitions, the file's own bytes; nil without
	Label    string         // what a grader compares with: the text of a JSON string, the bytes of any other value; "" of null
	Seed     uint64         // for the environment: the same for all samples of a group, another one in each epoch
}

// Keys names the members of a row. A key that is set must be in every row; others may be there and are not read.
type Keys struct {
	Input    string // text, or an array of messages; "" when Messages is set
	Messages string // array of messages; "" does without
	Label    string // any value; "" does without
	Tools    string // array of tool definitions; "" does without
	ID       string // text or integer; "" numbers the lines
	Images   string // a row that holds anything under this key is refused: nothing here can show it to a model
}

// Set is a file of prompts, in memory.
type Set struct {
	Name     string
	Repeated int      // rows whose task was in an earlier row
	Skipped  Problems // rows that were left out, where SetConfig.SkipBad allowed it
	weight   float64  // share in a mix; 0 counts the rows
	rows     []Prompt // Seed is not set
}

// Len is the number of prompts.
func (s *Set) Len() int { return len(s.rows) }

// All lists the prompts in the order of the file, as a stream with this seed would show them in its first epoch.
func (s *Set) All(seed uint64) []Prompt {
	all := make([]Prompt, len(s.rows))
	for i := range all {
		all[i] = s.prompt(i, seed, 0)
	}
	return all
}

// prompt gives a row as it is dealt out in an epoch.
func (s *Set) prompt(row int, seed uint64, epoch int64) Prompt {
	p := s.rows[row]
	p.Seed = draw(seed, s.Name, epoch, seedOfRow, uint64(row))
	return p
}

// task identifies what the row asks for.
func (p *Prompt) task() (sum [sha256.Size]byte) {
	h := sha256.New()
	writeParts(h, p.Input, string(p.Messages), string(p.Tools))
	h.Sum(sum[:0])
	return sum
}

// writeParts writes strings so that no two lists of them give the same bytes.
func writeParts(w io.Writer, parts ...string) {
	for _, part := range parts {
		fmt.Fprintf(w, "%d:%s", len(part), part)
	}
}
