// Texts that a tokenizer is trained on.

package models

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"molt/chat"
	"molt/run/problem"
)

// maxTexts bounds a file of texts; a tokenizer learns nothing more from a larger one.
const maxTexts = 1 << 30 // bytes

// ReadTexts reads a file to train a tokenizer on: JSONL with a "text" or "messages" (and "tools") in each row, which are
// rendered as the model will see them; or any other file, as plain text.
func ReadTexts(path string) (iter.Seq[string], error) {
	wrong := func(where, what, why, fix string) error {
		return &problem.Problem{Code: problem.Data, Where: where, What: what, Why: why, Fix: fix}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, wrong(path, "cannot read the texts", problem.Reason(err), "check the path")
	}
	if info.Size() > maxTexts {
		return nil, wrong(path, fmt.Sprintf("the file has %d bytes", info.Size()), "", fmt.Sprintf("give a part of it, at most %d bytes", maxTexts))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, wrong(path, "cannot read the texts", problem.Reason(err), "check the path")
	}
	if strings.TrimSpace(string(data)) == "" {
		return nil, wrong(path, "the file is empty", "", "give it some text")
	}
	lines := slices.Collect(strings.Lines(string(data)))
	for i, line := range lines {
		where := fmt.Sprintf("%s:%d", path, i+1)
		if !utf8.ValidString(line) {
			return nil, wrong(where, "not UTF-8", "", "convert the file")
		}
		if filepath.Ext(path) != ".jsonl" {
			continue
		}
		if lines[i], err = rowText(line); err != nil {
			return nil, wrong(where, err.Error(), "", `write {"text": "…"} or {"messages": […]} on each line`)
		}
	}
	return slices.Values(lines), nil
}

// rowText is what the model will see of a row.
func rowText(line string) (string, error) {
	if strings.TrimSpace(line) == "" {
		return "", nil
	}
	row, err := chat.ParseValue([]byte(line))
	if err != nil {
		return "", err
	}
	if text, ok := row.Get("text"); ok && text.Kind() == chat.KindString {
		return text.Text(), nil
	}
	messages, ok := row.Get("messages")
	if !ok {
		return "", fmt.Errorf(`the row has neither "text" nor "messages"`)
	}
	var c chat.Conversation
	if c.Messages, err = chat.DecodeMessages(messages); err != nil {
		return "", err
	}
	if tools, ok := row.Get("tools"); ok && tools.Kind() != chat.KindNull {
		if c.Tools, err = chat.DecodeTools(tools); err != nil {
			return "", err
		}
	}
	if err := c.Validate(); err != nil {
		return "", err
	}
	return chat.Builtin().Render(c, false)
}

// ReadTokenizer reads a tokenizer.json for InitConfig.
func ReadTokenizer(path string) ([]byte, error) {
	const most = 256 << 20
	info, err := os.Stat(path)
	if err == nil && info.Size() > most {
		return nil, &problem.Problem{Code: problem.Tokenizer, Where: path, What: fmt.Sprintf("the file has %d bytes", info.Size()), Fix: "name a tokenizer.json"}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &problem.Problem{Code: problem.Tokenizer, Where: path, What: "cannot read the tokenizer", Why: problem.Reason(err), Fix: "check the path", Err: err}
	}
	return data, nil
}
