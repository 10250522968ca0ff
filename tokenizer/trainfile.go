// Writing the tokenizer.json of a trained tokenizer.

package tokenizer

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
)

// trained writes pieces (ids in order), merges and added tokens, the first specials of which are special. The pieces
// and merges of a trainer always marshal, so it panics if they do not.
func trained(pieces []string, merges [][2]int32, added []string, specials int) []byte {
	byteLevel := byteLevelFields{Type: "ByteLevel", UseRegex: new(bool)}
	type typed struct {
		Type   string `json:"type"`
		Chain  []any  `json:"pretokenizers,omitzero"`
		Regex  any    `json:"pattern,omitzero"`
		Keep   string `json:"behavior,omitzero"`
		Invert *bool  `json:"invert,omitzero"`
	}
	split := typed{Type: "Split", Regex: map[string]string{"Regex": TrainPattern}, Keep: string(isolated), Invert: new(bool)}
	out, err := json.Marshal(struct {
		Version       string       `json:"version"`
		Truncation    *int         `json:"truncation"`
		Padding       *int         `json:"padding"`
		AddedTokens   []AddedToken `json:"added_tokens"`
		Normalizer    *int         `json:"normalizer"`
		PreTokenizer  any          `json:"pre_tokenizer"`
		PostProcessor any          `json:"post_processor"`
		Decoder       any          `json:"decoder"`
		Model         trainedModel `json:"model"`
	}{
		Version:       "1.0",
		AddedTokens:   controlTokens(added, specials, len(pieces)),
		PreTokenizer:  typed{Type: "Sequence", Chain: []any{split, byteLevel}},
		PostProcessor: byteLevel,
		Decoder:       byteLevel,
		Model:         newTrainedModel(pieces, merges),
	}, jsontext.Multiline(false))
	if err != nil {
		panic(fmt.Sprintf("tokenizer: write tokenizer.json: %v", err))
	}
	return out
}

func controlTokens(contents []string, specials, firstID int) []AddedToken {
	out := make([]AddedToken, len(contents))
	for i, c := range contents {
		out[i] = AddedToken{ID: int32(firstID + i), Content: c, Special: i < specials}
	}
	return out
}

// trainedModel has the fields of a Hugging Face BPE model.
type trainedModel struct {
	Type         string      `json:"type"`
	Dropout      *float64    `json:"dropout"`
	Unknown      *string     `json:"unk_token"`
	Prefix       string      `json:"continuing_subword_prefix"`
	Suffix       string      `json:"end_of_word_suffix"`
	FuseUnknown  bool        `json:"fuse_unk"`
	ByteFallback bool        `json:"byte_fallback"`
	IgnoreMerges bool        `json:"ignore_merges"`
	Vocab        inOrder     `json:"vocab"`
	Merges       [][2]string `json:"merges"`
}

func newTrainedModel(pieces []string, merges [][2]int32) trainedModel {
	m := trainedModel{Type: "BPE", Vocab: pieces, Merges: make([][2]string, len(merges))}
	for i, pair := range merges {
		m.Merges[i] = [2]string{pieces[pair[0]], pieces[pair[1]]}
	}
	return m
}

// inOrder marshals as an object from piece to index.
type inOrder []string

func (v inOrder) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for id, piece := range v {
		if err := enc.WriteToken(jsontext.String(piece)); err != nil {
			return err
		}
		if err := enc.WriteToken(jsontext.Int(int64(id))); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}
