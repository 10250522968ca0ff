// The small files of a model folder: end-of-text ids, tokenizer, chat template.

package weights

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
)

// readTexts reads everything but config.json and the weights.
func (f *Folder) readTexts(root *os.Root) error {
	for _, t := range []struct {
		to    *[]byte
		name  string
		limit int64
	}{
		{&f.Tokenizer, "tokenizer.json", maxTokenizer},
		{&f.TokenizerConfig, "tokenizer_config.json", maxSmallFile},
		{&f.ChatTemplate, "chat_template.jinja", maxSmallFile},
		{&f.Generation, "generation_config.json", maxSmallFile},
	} {
		data, err := f.text(root, t.name, t.limit)
		if err != nil {
			return err
		}
		*t.to = data
	}
	if err := f.readEOS(); err != nil {
		return fmt.Errorf("generation_config.json: %w", err)
	}
	if err := f.findTemplate(); err != nil {
		return fmt.Errorf("tokenizer_config.json: %w", err)
	}
	return f.checkVocabulary()
}

func (f *Folder) readEOS() error {
	f.EOS = f.Config.EOS
	if f.Generation == nil {
		return nil
	}
	var g struct {
		EOS idList `json:"eos_token_id"`
	}
	if err := json.Unmarshal(f.Generation, &g); err != nil {
		return shorten(err)
	}
	for _, id := range g.EOS {
		if id < 0 || int(id) >= f.Config.VocabSize {
			return fmt.Errorf("eos_token_id: %d is outside the vocabulary of %d", id, f.Config.VocabSize)
		}
	}
	if len(g.EOS) > 0 {
		f.EOS = g.EOS
	}
	return nil
}

// findTemplate takes the chat template out of tokenizer_config.json when it has no file of its own.
func (f *Folder) findTemplate() error {
	if f.ChatTemplate != nil || f.TokenizerConfig == nil {
		return nil
	}
	var c struct {
		Template jsontext.Value `json:"chat_template"`
	}
	if err := json.Unmarshal(f.TokenizerConfig, &c); err != nil {
		return shorten(err)
	}
	switch c.Template.Kind() {
	case '"':
		var text string
		if err := json.Unmarshal(c.Template, &text); err != nil {
			return err
		}
		f.ChatTemplate = []byte(text)
	case '[':
		var named []struct{ Name, Template string }
		if err := json.Unmarshal(c.Template, &named, json.MatchCaseInsensitiveNames(true)); err != nil {
			return fmt.Errorf("chat_template: %w", shorten(err))
		}
		for _, n := range named {
			if n.Name == "default" {
				f.ChatTemplate = []byte(n.Template)
			}
		}
		if f.ChatTemplate == nil {
			return errors.New("chat_template: none of the named templates is called default")
		}
	}
	return nil
}

// checkVocabulary: every id that the tokenizer can produce needs a row of the embedding.
func (f *Folder) checkVocabulary() error {
	if f.Tokenizer == nil {
		return nil
	}
	id, token, err := topID(f.Tokenizer)
	if err != nil {
		return fmt.Errorf("tokenizer.json: %w", err)
	}
	if id >= int64(f.Config.VocabSize) {
		return fmt.Errorf("tokenizer.json: token %q has id %d but the embedding has only %d rows (vocab_size in config.json); tokenizer and model do not belong together",
			token, id, f.Config.VocabSize)
	}
	return nil
}
