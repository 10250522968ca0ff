// Reading the two long lists of a tokenizer.json, one element at a time: the vocabulary and the merges.

package tokenizer

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"
)

// id32 checks an id; VocabSize bounds it further once all are known.
func id32(what string, id int64) (int32, error) {
	if id < 0 || id > maxID {
		return 0, fmt.Errorf("%s has id %d; ids run from 0 to %d", what, id, maxID)
	}
	return int32(id), nil
}

const (
	maxID     = 1<<21 - 1
	maxPiece  = 1 << 14 // bytes: what an id may add to a text
	maxMerges = 1 << 22
)

// entry is one line of model.vocab.
type entry struct {
	piece string
	id    int32
}

// vocabulary keeps the order of the file.
type vocabulary []entry

func (v *vocabulary) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return cmp.Or(err, fmt.Errorf("must be an object of token and id"))
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		piece := name.String()
		if len(piece) > maxPiece {
			return fmt.Errorf("%.40q… has %d bytes; at most %d", piece, len(piece), maxPiece)
		}
		var id int64
		if err := json.UnmarshalDecode(dec, &id); err != nil {
			return fmt.Errorf("%q: its id must be an integer from 0 to %d", piece, maxID)
		}
		small, err := id32(fmt.Sprintf("%q", piece), id)
		if err != nil {
			return err
		}
		*v = append(*v, entry{piece, small})
	}
	_, err := dec.ReadToken()
	return err
}

// mergeList is model.merges: "left right" or ["left", "right"].
type mergeList [][2]string

func (l *mergeList) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '[' {
		return cmp.Or(err, fmt.Errorf("must be a list of merges"))
	}
	for dec.PeekKind() != ']' {
		if len(*l) == maxMerges {
			return fmt.Errorf("more than %d merges", maxMerges)
		}
		if dec.PeekKind() == '"' {
			tok, err := dec.ReadToken()
			if err != nil {
				return err
			}
			left, right, ok := strings.Cut(tok.String(), " ")
			if !ok || strings.Contains(right, " ") {
				return fmt.Errorf("merge %d: %q must be two tokens with one space between", len(*l), tok.String())
			}
			*l = append(*l, [2]string{left, right})
			continue
		}
		var pair []string
		if err := json.UnmarshalDecode(dec, &pair); err != nil || len(pair) != 2 {
			return cmp.Or(err, fmt.Errorf("merge %d: must be two tokens", len(*l)))
		}
		*l = append(*l, [2]string(pair))
	}
	_, err := dec.ReadToken()
	return err
}
