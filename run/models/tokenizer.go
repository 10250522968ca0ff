// The tokenizer of a model folder: tokenizer.json with what the files beside it add, or the two files of GPT-2.

package models

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"molt/internal/spell"
	"molt/run/problem"
	"molt/tokenizer"
	"molt/weights"
)

// readTokenizer builds the tokenizer of the folder dir from its texts. rows is the number of rows of the embedding, 0 where
// there is no model.
func readTokenizer(dir string, texts weights.Texts, rows int) (*tokenizer.Tokenizer, error) {
	where, files := filepath.Join(dir, "tokenizer.json"), tokenFiles(texts)
	if files.Tokenizer == nil {
		var err error
		if files.Tokenizer, err = olderTokenizer(dir, files.Config); err != nil {
			return nil, err
		}
		where = filepath.Join(dir, "vocab.json")
	}
	tok, err := tokenizer.NewConfigured(files)
	if err != nil {
		if strings.Contains(err.Error(), "tokenizer_config.json") || strings.Contains(err.Error(), "added_tokens.json") || strings.Contains(err.Error(), "special_tokens_map.json") {
			where = dir
		}
		return nil, &problem.Problem{Code: problem.Tokenizer, Where: where, What: err.Error(), Fix: "choose a model whose tokenizer is supported", Err: err}
	}
	if top := tok.VocabSize() - 1; rows > 0 && top >= rows {
		return nil, &problem.Problem{
			Code: problem.Tokenizer, Where: filepath.Join(dir, "tokenizer_config.json"),
			What: fmt.Sprintf("token %.60q would get the id %d, and the embedding has only %d rows", tok.Token(int32(top)), top, rows),
			Fix:  "take the token out of tokenizer_config.json if nothing needs it; otherwise the embedding must grow, which is not done here",
		}
	}
	return tok, nil
}

// tokenFiles are the texts that say what tokens there are.
func tokenFiles(t weights.Texts) tokenizer.Files {
	return tokenizer.Files{Tokenizer: t.Tokenizer, Config: t.TokenizerConfig, SpecialTokens: t.SpecialTokens, AddedTokens: t.AddedTokens}
}

// olderTokenizer makes a tokenizer.json of vocab.json and merges.txt, or says why the folder's tokenizer is refused.
func olderTokenizer(dir string, config []byte) ([]byte, error) {
	refuse := func(file, what, fix string) error {
		return &problem.Problem{Code: problem.Tokenizer, Where: filepath.Join(dir, file), What: what, Fix: fix}
	}
	convert := "convert it with Python: transformers.AutoTokenizer.from_pretrained(" + spell.Quoted(dir) + ").save_pretrained(" + spell.Quoted(dir) + ") writes a tokenizer.json"
	if vocab, merges := filepath.Join(dir, "vocab.json"), filepath.Join(dir, "merges.txt"); exists(vocab) && exists(merges) {
		var c struct {
			Class string `json:"tokenizer_class"`
		}
		if json.Unmarshal(config, &c); !strings.HasPrefix(c.Class, "GPT2Tokenizer") {
			return nil, refuse("vocab.json", fmt.Sprintf("vocab.json and merges.txt do not say how text is split, and tokenizer_config.json names no GPT2Tokenizer (tokenizer_class %q)", c.Class), convert)
		}
		return gpt2Tokenizer(vocab, merges)
	}
	for _, other := range []struct{ pattern, what string }{
		{"tiktoken.model", "a tiktoken file holds ranks, but neither the pattern that splits text nor the special tokens, which stand in Python code"},
		{"*.tiktoken", "a tiktoken file holds ranks, but neither the pattern that splits text nor the special tokens, which stand in Python code"},
		{"tekken.json", "Mistral's tekken.json is not read"},
		{"tokenizer.model", "a SentencePiece or tiktoken file lacks the added tokens, and is not read"},
		{"vocab.txt", "WordPiece vocabularies (BERT) are not supported"},
		{"spiece.model", "Unigram models of SentencePiece are not supported"},
	} {
		if found, _ := filepath.Glob(filepath.Join(globEscaped(dir), other.pattern)); len(found) > 0 {
			return nil, refuse(filepath.Base(found[0]), other.what, convert)
		}
	}
	return nil, refuse("tokenizer.json", "the model has no tokenizer", "add its tokenizer.json")
}

// globEscaped is a folder's name that matches itself alone.
func globEscaped(dir string) string {
	return strings.NewReplacer(`\`, `\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

func gpt2Tokenizer(vocab, merges string) ([]byte, error) {
	texts := [2][]byte{}
	for i, path := range []string{vocab, merges} {
		data, err := ReadTokenizer(path)
		if err != nil {
			return nil, err
		}
		texts[i] = data
	}
	tok, err := tokenizer.NewGPT2(texts[0], texts[1])
	if err != nil {
		return nil, &problem.Problem{Code: problem.Tokenizer, Where: vocab, What: err.Error(), Fix: "mend the file, or add a tokenizer.json", Err: err}
	}
	return tok.JSON(), nil
}
