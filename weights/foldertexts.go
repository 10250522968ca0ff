// The small files of a model folder: end-of-text ids, tokenizer, chat templates.

package weights

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Texts are the small files of a folder as they are, but for its configuration; nil where one is absent.
type Texts struct {
	Tokenizer       []byte // tokenizer.json
	TokenizerConfig []byte // tokenizer_config.json
	SpecialTokens   []byte // special_tokens_map.json
	AddedTokens     []byte // added_tokens.json
	Generation      []byte // generation_config.json
	ChatTemplate    []byte // chat_template.jinja
	Templates       []Text // those in additional_chat_templates/, by name; "tool_use.jinja" and so on
}

// maxTemplates bounds the named templates of a model.
const maxTemplates = 16

// templatesName is the folder of the named templates.
const templatesName = "additional_chat_templates"

// textFile is where a text lies.
type textFile struct {
	text  *[]byte
	name  string
	limit int64 // bytes
}

func (t *Texts) files() []textFile {
	return []textFile{
		{&t.Generation, "generation_config.json", maxSmallFile},
		{&t.Tokenizer, "tokenizer.json", maxTokenizer},
		{&t.TokenizerConfig, "tokenizer_config.json", maxSmallFile},
		{&t.SpecialTokens, "special_tokens_map.json", maxSmallFile},
		{&t.AddedTokens, "added_tokens.json", maxSmallFile},
		{&t.ChatTemplate, "chat_template.jinja", maxSmallFile},
	}
}

// ReadTexts reads the small files of a folder, which needs nothing else. When the folder has a manifest, they must match it.
func ReadTexts(dir string) (Texts, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Texts{}, fmt.Errorf("weights: read %s: %w", dir, cause(err))
	}
	defer root.Close()
	m, err := readManifest(root)
	if err == nil {
		var t Texts
		if err = t.read(root, m); err == nil {
			return t, nil
		}
	}
	return Texts{}, fmt.Errorf("weights: read %s: %w", dir, err)
}

func (t *Texts) read(root *os.Root, m *Manifest) (err error) {
	for _, p := range t.files() {
		if *p.text, err = m.text(root, p.name, p.limit); err != nil {
			return err
		}
	}
	entries, err := fs.ReadDir(root.FS(), templatesName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", templatesName, cause(err))
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".jinja") {
			continue
		}
		if len(t.Templates) == maxTemplates {
			return fmt.Errorf("%s: more than %d chat templates", templatesName, maxTemplates)
		}
		data, err := m.text(root, templatesName+"/"+e.Name(), maxSmallFile)
		if err != nil {
			return err
		}
		t.Templates = append(t.Templates, Text{e.Name(), data})
	}
	return nil
}

// readTexts reads everything but config.json and the weights.
func (f *Folder) readTexts(root *os.Root) error {
	if err := f.Texts.read(root, f.Manifest); err != nil {
		return err
	}
	if err := f.readEOS(); err != nil {
		return fmt.Errorf("generation_config.json: %w", err)
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
