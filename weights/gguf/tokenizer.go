// tokenizer.json and tokenizer_config.json from a vocabulary, as the tokenizers library writes them.

package gguf

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// tokenizer returns tokenizer.json.
func (v *vocabulary) tokenizer() any {
	vocab := make(map[string]int, len(v.tokens))
	added := []addedToken{}
	for id, token := range v.tokens {
		vocab[token] = id
		kind := v.types[id]
		if kind == tokenControl || kind == tokenUnknown || kind == tokenUser {
			strips := v.strips && !slices.Contains([]string{"<unk>", "<s>", "<|endoftext|>"}, token)
			added = append(added, addedToken{ID: id, Content: token, Special: kind != tokenUser, RStrip: strips})
		}
	}
	out := component{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added,
		"normalizer": v.split.normalizer(), "pre_tokenizer": nil, "post_processor": v.postProcessor(),
		"decoder": component{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
		"model": component{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": v.pieces, "byte_fallback": v.pieces, "ignore_merges": v.split.whole, "vocab": vocab, "merges": listed(v.merges)},
	}
	if !v.pieces {
		out["pre_tokenizer"] = v.split.preTokenizer()
		return out
	}
	if id, ok := v.special["unk_token"]; ok {
		out["model"].(component)["unk_token"] = v.tokens[id]
	}
	space := component{"type": "Replace", "pattern": component{"String": " "}, "content": "▁"}
	back := []component{{"type": "Replace", "pattern": component{"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}}
	out["normalizer"] = space
	if v.prefix {
		out["normalizer"] = component{"type": "Sequence", "normalizers": []component{{"type": "Prepend", "prepend": "▁"}, space}}
		back = append(back, component{"type": "Strip", "content": " ", "start": 1, "stop": 0})
	}
	out["decoder"] = component{"type": "Sequence", "decoders": back}
	return out
}

// listed keeps an empty list from being written as null.
func listed(merges [][2]string) [][2]string {
	if merges == nil {
		return [][2]string{}
	}
	return merges
}

// postProcessor puts the tokens that begin and end a text.
func (v *vocabulary) postProcessor() any {
	if !v.addBOS && !v.addEOS {
		return nil
	}
	var single, pair []component
	special := component{}
	put := func(name string, on bool, kind int, to *[]component) {
		if !on {
			return
		}
		id := v.special[name]
		token := v.tokens[id]
		*to = append(*to, component{"SpecialToken": component{"id": token, "type_id": kind}})
		special[token] = component{"id": token, "ids": []int64{id}, "tokens": []string{token}}
	}
	text := func(name string, kind int) component {
		return component{"Sequence": component{"id": name, "type_id": kind}}
	}
	put("bos_token", v.addBOS, 0, &single)
	single = append(single, text("A", 0))
	put("eos_token", v.addEOS, 0, &single)
	pair = slices.Clone(single)
	put("bos_token", v.addBOS, 1, &pair)
	pair = append(pair, text("B", 1))
	put("eos_token", v.addEOS, 1, &pair)
	return component{"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}
}

// config returns tokenizer_config.json.
func (v *vocabulary) config(named []namedTemplate) any {
	out := component{"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": v.context, "clean_up_tokenization_spaces": false,
		"add_bos_token": v.addBOS, "add_eos_token": v.addEOS}
	for _, name := range []string{"bos_token", "eos_token", "unk_token", "pad_token"} {
		if id, ok := v.special[name]; ok {
			out[name] = v.tokens[id]
		}
	}
	if named != nil {
		out["chat_template"] = named
	}
	return out
}

// maxMergeWork bounds the sum of the squares of the tokens' lengths, which finding their merges takes. Gemma 3's is 27 million.
const maxMergeWork = 1 << 30

// mergesOf lists the merges of a SentencePiece vocabulary, the first to be applied first.
func mergesOf(tokens []string, types []int64, scores []float64) ([][2]string, error) {
	id, work := make(map[string]int, len(tokens)), 0
	for i, token := range tokens {
		if types[i] != tokenNormal {
			continue
		}
		id[token] = i
		if work += len(token) * len(token); work > maxMergeWork || len(token) > maxMergeWork {
			return nil, fmt.Errorf("tokenizer.ggml.tokens: up to token %d, of %d bytes, they are too long to find their merges", i, len(token))
		}
	}
	type merge struct {
		left, right string
		whole       int
	}
	var all []merge
	for i, token := range tokens {
		if types[i] != tokenNormal {
			continue
		}
		first := len(all)
		for cut := range token {
			if cut == 0 {
				continue
			}
			_, hasLeft := id[token[:cut]]
			_, hasRight := id[token[cut:]]
			if hasLeft && hasRight {
				all = append(all, merge{token[:cut], token[cut:], i})
			}
		}
		slices.SortFunc(all[first:], func(a, b merge) int {
			return cmp.Or(cmp.Compare(id[a.left], id[b.left]), cmp.Compare(id[a.right], id[b.right]))
		})
	}
	slices.SortStableFunc(all, func(a, b merge) int {
		return cmp.Or(cmp.Compare(scores[b.whole], scores[a.whole]),
			cmp.Compare(utf8.RuneCountInString(b.left), utf8.RuneCountInString(a.left)),
			cmp.Compare(utf8.RuneCountInString(b.right), utf8.RuneCountInString(a.right)))
	})
	out := make([][2]string, len(all))
	for i, m := range all {
		out[i] = [2]string{m.left, m.right}
	}
	return out, nil
}
