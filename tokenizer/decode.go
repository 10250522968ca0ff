// From ids back to text. The decoder is a pipeline of stages that pieces are pushed through one by one, so that what a
// stream has given so far is always a prefix of what decoding everything at once gives: there is no second code path.

package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// stage takes fragments of text and hands on what it can decide. flush hands on the rest.
type stage interface {
	push(fragment string, next func(string))
	flush(next func(string))
}

// stageMaker makes a stage for one pass.
type stageMaker func() stage

// Stream decodes ids as they are sampled. It is for one goroutine.
type Stream struct {
	t           *Tokenizer
	visibleOnly bool
	stages      []stage
	out         []byte
}

// NewStream starts a decoder. With visibleOnly, special tokens give no text.
func (t *Tokenizer) NewStream(visibleOnly bool) *Stream {
	s := &Stream{t: t, visibleOnly: visibleOnly}
	for _, make := range t.decode {
		s.stages = append(s.stages, make())
	}
	return s
}

// Push takes the next id and returns the text that is certain by now. An incomplete character is held back until it is
// complete, broken or flushed. An id outside the vocabulary reads as U+FFFD.
func (s *Stream) Push(id int32) string {
	s.out = s.out[:0]
	s.feed(id)
	return string(s.out)
}

// Flush ends the text and returns what was held back. The stream is used up.
func (s *Stream) Flush() string {
	s.out = s.out[:0]
	s.finish()
	return string(s.out)
}

// Decode returns the text of ids, special tokens included.
func (t *Tokenizer) Decode(ids []int32) string { return t.decodeAll(ids, false) }

// DecodeVisible returns the text of ids without special tokens.
func (t *Tokenizer) DecodeVisible(ids []int32) string { return t.decodeAll(ids, true) }

func (t *Tokenizer) decodeAll(ids []int32, visibleOnly bool) string {
	s := t.NewStream(visibleOnly)
	for _, id := range ids {
		s.feed(id)
	}
	s.finish()
	return string(s.out)
}

func (s *Stream) feed(id int32) {
	if s.visibleOnly && s.t.IsSpecial(id) {
		return
	}
	piece := string(utf8.RuneError)
	if id >= 0 && int(id) < len(s.t.pieces) {
		if piece = s.t.pieces[id]; piece == "" {
			return // an id that the file leaves out
		}
	}
	s.from(0)(piece)
}

// finish flushes the stages in order; what one hands on still passes those behind it.
func (s *Stream) finish() {
	for i, st := range s.stages {
		st.flush(s.from(i + 1))
	}
}

// from returns the entrance of stage i; behind the last one is the output.
func (s *Stream) from(i int) func(string) {
	if i == len(s.stages) {
		return func(f string) { s.out = append(s.out, f...) }
	}
	return func(f string) { s.stages[i].push(f, s.from(i+1)) }
}

// eachPiece is a stage that maps pieces one by one.
type eachPiece func(string) string

func (e eachPiece) push(f string, next func(string)) { next(e(f)) }
func (e eachPiece) flush(func(string))               {}

// bytesStage is ByteLevel: pieces are bytes of UTF-8 in the byte alphabet.
type bytesStage struct{ held []byte }

func (s *bytesStage) push(f string, next func(string)) {
	s.held = append(s.held, byteLevelBytes(f)...)
	s.emit(false, next)
}

func (s *bytesStage) flush(next func(string)) { s.emit(true, next) }

func (s *bytesStage) emit(final bool, next func(string)) {
	text, used := lossy(nil, s.held, final)
	s.held = append(s.held[:0], s.held[used:]...)
	if len(text) > 0 {
		next(string(text))
	}
}

// byteFallbackStage joins <0x..> pieces. A run of them that is UTF-8 as a whole becomes its text, any other becomes one
// U+FFFD for each byte; so a run is held back until it ends.
type byteFallbackStage struct{ run []byte }

func (s *byteFallbackStage) push(f string, next func(string)) {
	if b, ok := bytePiece(f); ok {
		s.run = append(s.run, b)
		return
	}
	s.flush(next)
	next(f)
}

func (s *byteFallbackStage) flush(next func(string)) {
	if len(s.run) == 0 {
		return
	}
	if utf8.Valid(s.run) {
		next(string(s.run))
	} else {
		next(strings.Repeat(string(utf8.RuneError), len(s.run)))
	}
	s.run = s.run[:0]
}

// bytePiece reads <0x0A>.
func bytePiece(p string) (byte, bool) {
	if len(p) != 6 || p[:3] != "<0x" || p[5] != '>' {
		return 0, false
	}
	high, low := hexDigit(p[3]), hexDigit(p[4])
	return byte(high<<4 | low), high >= 0 && low >= 0
}

func hexDigit(c byte) int { return strings.IndexByte("0123456789ABCDEF", c&^(c>>1&0x20)) }

// metaspaceStage reads replacement as a space, and drops those of the first piece when encoding puts one there.
type metaspaceStage struct {
	replacement string
	dropFirst   bool
	started     bool
}

func (s *metaspaceStage) push(f string, next func(string)) {
	space := " "
	if !s.started && s.dropFirst {
		space = ""
	}
	s.started = true
	next(strings.ReplaceAll(f, s.replacement, space))
}

func (s *metaspaceStage) flush(func(string)) {}

// suffixStage reads the end-of-word suffix as a space, and as nothing at the end of the text; so a piece that holds one
// waits for the next.
type suffixStage struct {
	suffix string
	held   string
}

func (s *suffixStage) push(f string, next func(string)) {
	if s.held != "" {
		next(strings.ReplaceAll(s.held, s.suffix, " "))
		s.held = ""
	}
	if s.suffix != "" && strings.Contains(f, s.suffix) {
		s.held = f
		return
	}
	next(f)
}

func (s *suffixStage) flush(next func(string)) {
	if s.held != "" {
		next(strings.ReplaceAll(s.held, s.suffix, ""))
	}
	s.held = ""
}

// wordPieceStage puts a space before every piece that does not continue a word.
type wordPieceStage struct {
	prefix           string
	cleanup, started bool
}

func (s *wordPieceStage) push(f string, next func(string)) {
	if s.started {
		if rest, ok := strings.CutPrefix(f, s.prefix); ok {
			f = rest
		} else {
			f = " " + f
		}
	}
	s.started = true
	if s.cleanup {
		f = CleanUp(f)
	}
	next(f)
}

func (s *wordPieceStage) flush(func(string)) {}

// CleanUp takes away the spaces that transformers does not show when clean_up_tokenization_spaces is set in
// tokenizer_config.json. Decode never does: the text would not encode to its ids again.
func CleanUp(text string) string {
	for _, pair := range cleanUps {
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text
}

var cleanUps = [][2]string{{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}}

// leadStage strips up to left characters c from the start of the fused text.
type leadStage struct {
	c    string
	left int
}

func (s *leadStage) push(f string, next func(string)) {
	for s.left > 0 && strings.HasPrefix(f, s.c) {
		f, s.left = f[len(s.c):], s.left-1
	}
	if f != "" {
		s.left = 0
		next(f)
	}
}

func (s *leadStage) flush(func(string)) {}

// stripPiece removes up to start characters c in front of a piece.
func stripPiece(c string, start int) eachPiece {
	return func(f string) string {
		for i := 0; i < start && strings.HasPrefix(f, c); i++ {
			f = f[len(c):]
		}
		return f
	}
}
