// Reading the model of a tokenizer.json.

package tokenizer

import (
	"encoding/json/jsontext"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// bpeFields is the model of a tokenizer.json.
type bpeFields struct {
	Type         string     `json:"type"`
	Dropout      *float64   `json:"dropout"`
	Unknown      *string    `json:"unk_token"`
	Prefix       string     `json:"continuing_subword_prefix"` // "" for null
	Suffix       string     `json:"end_of_word_suffix"`        // "" for null
	FuseUnknown  bool       `json:"fuse_unk"`
	ByteFallback bool       `json:"byte_fallback"`
	IgnoreMerges bool       `json:"ignore_merges"`
	Vocab        vocabulary `json:"vocab"`
	Merges       mergeList  `json:"merges"`
}

// readBPE returns the model and its vocabulary in the order of the file.
func readBPE(v jsontext.Value) (*bpe, []entry, error) {
	f, err := readBPEFields(v)
	if err != nil {
		return nil, nil, err
	}
	m := &bpe{fuseUnknown: f.FuseUnknown, byteFallback: f.ByteFallback, ignoreMerges: f.IgnoreMerges, prefix: f.Prefix, suffix: f.Suffix, unknown: -1}
	if err := m.fill(f.Vocab); err != nil {
		return nil, nil, err
	}
	unknown := ""
	if f.Unknown != nil {
		id, known := m.ids[*f.Unknown]
		if !known {
			return nil, nil, fmt.Errorf("model.unk_token: %q is not in model.vocab", *f.Unknown)
		}
		m.unknown, unknown = id, *f.Unknown
	}
	if err := m.rank(f.Merges); err != nil {
		return nil, nil, err
	}
	m.findCuts(f.Merges, unknown)
	return m, f.Vocab, nil
}

// readBPEFields refuses models of other types, and what no encoder could do.
func readBPEFields(v jsontext.Value) (f bpeFields, err error) {
	if null(v) {
		return f, fmt.Errorf("model: missing")
	}
	switch kind, err := component("model", v); {
	case err != nil:
		return f, err
	case kind != "BPE":
		return f, fmt.Errorf("model: type %q is not supported (BPE is)", kind)
	}
	if err := fields("model", v, &f); err != nil {
		return f, err
	}
	switch {
	case f.Dropout != nil && *f.Dropout != 0:
		return f, fmt.Errorf("model.dropout: %v is not supported: encoding would be random", *f.Dropout)
	case len(f.Vocab) == 0:
		return f, fmt.Errorf("model.vocab: empty")
	}
	return f, nil
}

// fill builds the tables from pieces to ids.
func (m *bpe) fill(vocab []entry) error {
	m.ids = make(map[string]int32, len(vocab))
	top := int32(0)
	for _, e := range vocab {
		m.ids[e.piece] = e.id
		top = max(top, e.id)
	}
	if int(top) > 2*len(vocab)+1<<16 {
		return fmt.Errorf("model.vocab: id %d with only %d tokens leaves ids without a token", top, len(vocab))
	}
	m.control = make([]bool, top+1)
	for r := range m.small {
		m.small[r] = -1
		if id, ok := m.ids[string(rune(r))]; ok {
			m.small[r] = id
		}
	}
	for b := range m.bytes {
		name := fmt.Sprintf("<0x%02X>", b)
		m.bytes[b] = -1
		if id, ok := m.ids[name]; ok {
			m.bytes[b] = id
		}
	}
	return nil
}

// rank numbers the merges in the order of the file.
func (m *bpe) rank(merges mergeList) error {
	if len(merges) > math.MaxInt32 {
		return fmt.Errorf("model.merges: %d merges", len(merges))
	}
	m.merges = newMergeTable(len(merges))
	for rank, pair := range merges {
		left, okLeft := m.ids[pair[0]]
		right, okRight := m.ids[pair[1]]
		continued, okPrefix := strings.CutPrefix(pair[1], m.prefix)
		to, okTo := m.ids[pair[0]+continued]
		if !okLeft || !okRight || !okTo || !okPrefix {
			return fmt.Errorf("model.merges[%d]: %q + %q: the parts and the result must be in model.vocab", rank, pair[0], pair[1])
		}
		if !m.merges.add(pairKey(left, right), merge{int32(rank), to}) {
			return fmt.Errorf("model.merges[%d]: %q + %q is listed twice", rank, pair[0], pair[1])
		}
	}
	return nil
}

// findCuts learns which characters a merge joins with a ▁ behind them. With few of them, long texts can be encoded word
// by word and give the same ids.
func (m *bpe) findCuts(merges mergeList, unknown string) {
	if _, ok := m.ids["▁"]; !ok || m.ignoreMerges || m.prefix != "" || m.suffix != "" {
		return
	}
	m.cuts, m.joining = true, make(map[rune]bool)
	for _, pair := range merges {
		left, right := pair[0], pair[1]
		if !strings.HasPrefix(right, "▁") {
			continue
		}
		// A byte's or the unknown piece is not spelled as the text that it stands for.
		_, isByte := bytePiece(left[max(0, len(left)-6):])
		if isByte || m.unknown >= 0 && strings.HasSuffix(left, unknown) {
			m.cuts = false
		}
		r, _ := utf8.DecodeLastRuneInString(left)
		m.joining[r] = true
	}
}

// takeBytes lets text arrive as bytes. It reports false when the model needs to see how they are spelled.
func (m *bpe) takeBytes() bool {
	if m.prefix != "" || m.suffix != "" || m.byteFallback {
		return false
	}
	var ids [256]int32
	for b, r := range runeOfByte {
		if ids[b] = m.small[r]; ids[b] < 0 && m.unknown >= 0 {
			return false
		}
	}
	m.raw, m.cuts = true, false
	copy(m.small[:], ids[:])
	whole := make(map[string]int32)
	for piece, id := range m.ids {
		if text, ok := fromByteLevel(piece); ok && m.ignoreMerges {
			whole[string(text)] = id
		}
	}
	m.ids = whole
	return true
}
