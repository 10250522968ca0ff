// Reading the post-processor, which puts ids around those of a text.

package tokenizer

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
)

// readPostProcessor sets what Frame puts around one sequence.
func (t *Tokenizer) readPostProcessor(path string, v jsontext.Value) error {
	if null(v) {
		return nil
	}
	kind, err := component(path, v)
	if err != nil {
		return err
	}
	switch kind {
	case "ByteLevel":
		var f byteLevelFields
		return fields(path, v, &f)
	case "TemplateProcessing":
		return t.readTemplate(path, v)
	case "BertProcessing", "RobertaProcessing":
		return t.readBert(path, v)
	case "Sequence":
		var f struct {
			Type       string           `json:"type"`
			Processors []jsontext.Value `json:"processors"`
		}
		if err := fields(path, v, &f); err != nil {
			return err
		}
		return sequence(path+".processors", f.Processors, t.readPostProcessor)
	}
	return unsupported(path, kind, "ByteLevel, TemplateProcessing, BertProcessing, RobertaProcessing, Sequence")
}

// maxFrame bounds the ids before a sequence and those after it.
const maxFrame = 256

// surround adds ids around those that Frame puts around a sequence already.
func (t *Tokenizer) surround(path string, before, after []int32) error {
	t.prefix, t.suffix = append(before, t.prefix...), append(t.suffix, after...)
	if len(t.prefix) > maxFrame || len(t.suffix) > maxFrame {
		return fmt.Errorf("%s: more than %d ids around a sequence", path, maxFrame)
	}
	return nil
}

// readBert reads the two that put cls before a sequence and sep after it.
func (t *Tokenizer) readBert(path string, v jsontext.Value) error {
	var f struct {
		Type           string `json:"type"`
		Sep            token  `json:"sep"`
		Cls            token  `json:"cls"`
		TrimOffsets    bool   `json:"trim_offsets"`
		AddPrefixSpace bool   `json:"add_prefix_space"`
	}
	if err := fields(path, v, &f); err != nil {
		return err
	}
	for _, tok := range []token{f.Cls, f.Sep} {
		if int(tok.id) >= t.VocabSize() {
			return fmt.Errorf("%s: %q has id %d, outside the vocabulary of %d", path, tok.piece, tok.id, t.VocabSize())
		}
	}
	return t.surround(path, []int32{f.Cls.id}, []int32{f.Sep.id})
}

// token is ["[SEP]", 102].
type token entry

func (t *token) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var pair []jsontext.Value
	var id int64
	err := json.UnmarshalDecode(dec, &pair)
	if err != nil || len(pair) != 2 {
		return cmp.Or(err, fmt.Errorf("must be a token and its id"))
	}
	if err := cmp.Or(json.Unmarshal(pair[0], &t.piece), json.Unmarshal(pair[1], &id)); err != nil {
		return err
	}
	t.id, err = id32(fmt.Sprintf("%q", t.piece), id)
	return err
}

// templateItem is {"SpecialToken": …} or {"Sequence": …}.
type templateItem struct {
	Special  *templateRef `json:"SpecialToken"`
	Sequence *templateRef `json:"Sequence"`
}

type templateRef struct {
	ID     string `json:"id"`
	TypeID int    `json:"type_id"`
}

func (t *Tokenizer) readTemplate(path string, v jsontext.Value) error {
	var f struct {
		Type   string         `json:"type"`
		Single []templateItem `json:"single"`
		Pair   jsontext.Value `json:"pair"` // two sequences at once: not offered

		// Left over from ByteLevel in some files; the reference does not look at them.
		AddPrefixSpace bool `json:"add_prefix_space"`
		TrimOffsets    bool `json:"trim_offsets"`
		UseRegex       bool `json:"use_regex"`
		Special        map[string]struct {
			ID     string   `json:"id"`
			IDs    []int64  `json:"ids"`
			Tokens []string `json:"tokens"`
		} `json:"special_tokens"`
	}
	if err := fields(path, v, &f); err != nil {
		return err
	}
	var around [2][]int32 // before and after the sequence
	side := 0
	for i, item := range f.Single {
		at := fmt.Sprintf("%s.single[%d]", path, i)
		switch {
		case item.Sequence != nil && item.Special == nil && item.Sequence.ID == "A" && side == 0:
			side = 1
		case item.Special != nil && item.Sequence == nil:
			for _, id := range f.Special[item.Special.ID].IDs {
				if id < 0 || id >= int64(t.VocabSize()) {
					return fmt.Errorf("%s: %q has id %d, outside the vocabulary of %d", at, item.Special.ID, id, t.VocabSize())
				}
				if around[side] = append(around[side], int32(id)); len(around[side]) > maxFrame {
					return fmt.Errorf("%s: more than %d ids around a sequence", at, maxFrame)
				}
			}
			if len(f.Special[item.Special.ID].IDs) == 0 {
				return fmt.Errorf("%s: %q is not in special_tokens", at, item.Special.ID)
			}
		default:
			return fmt.Errorf("%s: must be a special token or, once, the sequence A", at)
		}
	}
	if side == 0 {
		return fmt.Errorf("%s.single: the sequence A is missing", path)
	}
	return t.surround(path, around[0], around[1])
}
