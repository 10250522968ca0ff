// The chat templates of a model folder: one, or several by name.

package models

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"molt/chat"
)

// additionalTemplates holds the templates that have a name.
const additionalTemplates = "additional_chat_templates"

// maxTemplates bounds the named templates of a model.
const maxTemplates = 16

// readTemplates finds a folder's templates as transformers does: chat_template.jinja, which is the default one, and those in
// additional_chat_templates/ by their names; without such files, what tokenizer_config.json says.
func readTemplates(dir string, config []byte) ([]chat.Source, error) {
	var sources []chat.Source
	add := func(name, file string) error {
		text, err := readSmall(file)
		if err != nil {
			return err
		}
		sources = append(sources, chat.Source{Name: name, Text: string(text)})
		return nil
	}
	if file := filepath.Join(dir, "chat_template.jinja"); exists(file) {
		if err := add(chat.DefaultTemplate, file); err != nil {
			return nil, err
		}
	}
	extra := filepath.Join(dir, additionalTemplates)
	files, err := os.ReadDir(extra)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), ".jinja")
		if !ok {
			continue
		}
		if len(sources) == maxTemplates {
			return nil, fmt.Errorf("more than %d chat templates", maxTemplates)
		}
		if err := add(name, filepath.Join(extra, file.Name())); err != nil {
			return nil, err
		}
	}
	if len(sources) > 0 || config == nil {
		return sources, nil
	}
	v, err := chat.ParseValue(config)
	if err != nil {
		return nil, err
	}
	named, _ := v.Get("chat_template")
	return chat.DecodeSources(named)
}
