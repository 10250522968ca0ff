// The chat templates of a model folder: one, or several by name.

package models

import (
	"slices"
	"strings"

	"molt/chat"
	"molt/weights"
)

// readSources finds a folder's templates as transformers does: chat_template.jinja, which is the default one, and those in
// additional_chat_templates/ by their names; without such files, what tokenizer_config.json says.
func readSources(t weights.Texts) ([]chat.Source, error) {
	var sources []chat.Source
	if t.ChatTemplate != nil {
		sources = append(sources, chat.Source{Name: chat.DefaultTemplate, Text: string(t.ChatTemplate)})
	}
	for _, file := range t.Templates {
		s := chat.Source{Name: strings.TrimSuffix(file.Name, ".jinja"), Text: string(file.Data)}
		sources = append(slices.DeleteFunc(sources, func(other chat.Source) bool { return other.Name == s.Name }), s)
	}
	if len(sources) > 0 || t.TokenizerConfig == nil {
		return sources, nil
	}
	v, err := chat.ParseValue(t.TokenizerConfig)
	if err != nil {
		return nil, err
	}
	named, _ := v.Get("chat_template")
	return chat.DecodeSources(named)
}
