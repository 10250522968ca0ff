// A script is a file of JSON lines, one for each reply, in the order in which they are given:
//
//	{"text": "I look.<tool_call>…</tool_call>"}
//	{"text": "12", "match": "3 pens"}                          only when the prompt says so, before lines without match
//	{"ids": [5, 7, 2]}                                         token ids, as they are
//	{"text": "half a tho", "open": true}                       without an end: it is cut by its length
//	{"text": "…", "trouble": "unavailable", "after": 5}        a stream that breaks behind five tokens
//	{"text": "…", "trouble": "slow", "after": 0, "pause_ms": 50}
//
// Troubles are unavailable (tell the client to try again), broken (do not), hang and slow. "loop": true keeps a line.

package script

import (
	"bufio"
	"encoding/json/v2"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"molt/engine"
	"molt/engine/enginetest"
	"molt/tokenizer"
)

// Line is one reply.
type Line struct {
	Text    string             `json:"text"`
	IDs     []int32            `json:"ids"`
	Match   string             `json:"match"`
	Open    bool               `json:"open"`
	Trouble enginetest.Trouble `json:"trouble"`
	After   int                `json:"after"`
	Pause   int                `json:"pause_ms"`
	Loop    bool               `json:"loop"`
}

const maxLine = 16 << 20

// Read reads a script.
func Read(r io.Reader) ([]Line, error) {
	var lines []Line
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	for n := 1; s.Scan(); n++ {
		if strings.TrimSpace(s.Text()) == "" {
			continue
		}
		var l Line
		if err := json.Unmarshal(s.Bytes(), &l, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("script: line %d: %w", n, err)
		}
		if err := l.validate(); err != nil {
			return nil, fmt.Errorf("script: line %d: %w", n, err)
		}
		lines = append(lines, l)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return lines, nil
}

func (l *Line) validate() error {
	troubles := []enginetest.Trouble{"", enginetest.Unavailable, enginetest.Broken, enginetest.Hang, enginetest.Slow}
	switch {
	case l.Text != "" && l.IDs != nil:
		return fmt.Errorf("it has text and ids; want one of them")
	case !slices.Contains(troubles, l.Trouble):
		return fmt.Errorf("trouble %q; want unavailable, broken, hang or slow", l.Trouble)
	case l.After < 0 || l.Pause < 0:
		return fmt.Errorf("after %d, pause_ms %d; want 0 or more", l.After, l.Pause)
	case l.Trouble == enginetest.Slow && l.Pause == 0:
		return fmt.Errorf("trouble slow without pause_ms")
	}
	return nil
}

// Engine answers from a script. When no line is left, requests fail with engine.ErrFinal.
type Engine struct {
	*enginetest.Script
	tok *tokenizer.Tokenizer
	end int32

	mu    sync.Mutex
	lines []Line
}

// New makes an engine. end is the id that ends a turn.
func New(lines []Line, tok *tokenizer.Tokenizer, end int32, context int) *Engine {
	e := &Engine{tok: tok, end: end, lines: slices.Clone(lines)}
	e.Script = enginetest.NewScript(enginetest.ScriptConfig{Vocab: tok.VocabSize(), MaxTokens: context, Reply: e.reply})
	return e
}

var errSpent = fmt.Errorf("the script has no line left for this prompt: %w", engine.ErrFinal)

// reply chooses the line for a request, and prepares its trouble.
func (e *Engine) reply(r engine.Request) []int32 {
	l, ok := e.take(r)
	if !ok {
		e.Inject(enginetest.Fault{Trouble: enginetest.Broken, Err: errSpent, Match: same(r)})
		return []int32{e.end}
	}
	if l.Trouble != "" {
		e.Inject(enginetest.Fault{Trouble: l.Trouble, After: l.After, Pause: time.Duration(l.Pause) * time.Millisecond, Match: same(r)})
	}
	ids := l.IDs
	if ids == nil {
		ids = e.tok.EncodeSpecial(l.Text)
	}
	if !l.Open {
		return append(slices.Clone(ids), e.end)
	}
	for len(ids) > 0 && len(ids) < r.Sampling.MaxTokens && len(ids) < 1<<16 {
		ids = append(ids, ids...) // longer than it may become
	}
	return ids
}

func same(r engine.Request) func(engine.Request) bool {
	return func(q engine.Request) bool { return q.Tag == r.Tag && q.Key == r.Key }
}

// take removes the first line that matches the prompt, else the first one that matches any.
func (e *Engine) take(r engine.Request) (Line, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	prompt := ""
	if slices.ContainsFunc(e.lines, func(l Line) bool { return l.Match != "" }) {
		prompt = e.tok.Decode(r.Prompt)
	}
	i := slices.IndexFunc(e.lines, func(l Line) bool { return l.Match != "" && strings.Contains(prompt, l.Match) })
	if i < 0 {
		i = slices.IndexFunc(e.lines, func(l Line) bool { return l.Match == "" })
	}
	if i < 0 {
		return Line{}, false
	}
	l := e.lines[i]
	if !l.Loop {
		e.lines = slices.Delete(e.lines, i, i+1)
	}
	return l, true
}
