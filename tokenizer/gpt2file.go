// The older form of a byte-level BPE: vocab.json and merges.txt, as GPT-2 has them.

package tokenizer

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"
)

// NewGPT2 builds a tokenizer from the bytes of vocab.json and merges.txt, as transformers does for tokenizer class
// GPT2Tokenizer: <|endoftext|> is special. Other classes read the same files otherwise, so the caller must know the class.
// JSON gives the tokenizer.json that says the same.
func NewGPT2(vocab, merges []byte) (*Tokenizer, error) {
	data, err := gpt2File(vocab, string(merges))
	if err != nil {
		return nil, fmt.Errorf("tokenizer: load vocab.json and merges.txt: %w", err)
	}
	return New(data)
}

func gpt2File(vocab jsontext.Value, merges string) ([]byte, error) {
	var ids vocabulary
	if err := json.Unmarshal(vocab, &ids); err != nil {
		return nil, fmt.Errorf("vocab.json: %w", err)
	}
	end := AddedToken{ID: int32(len(ids)), Content: "<|endoftext|>", Normalized: true, Special: true}
	for _, e := range ids {
		if e.piece == end.Content {
			end.ID = e.id
		}
	}
	type object map[string]any
	bytes := object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	return json.Marshal(object{
		"version": "1.0", "added_tokens": []AddedToken{end}, "pre_tokenizer": bytes, "post_processor": bytes, "decoder": bytes,
		"model": object{"type": "BPE", "vocab": vocab, "merges": gpt2Merges(merges)},
	}, json.Deterministic(true))
}

// gpt2Merges reads one merge a line.
func gpt2Merges(text string) []string {
	out := []string{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line != "" && !strings.HasPrefix(line, "#version") {
			out = append(out, line)
		}
	}
	return out
}
