// What turns text into ids and back, without the weights: tokenizer, chat template, and the tokens that templates name.

package models

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"molt/chat"
	"molt/run/problem"
	"molt/tokenizer"
)

// Text is a tokenizer, a chat template, or both.
type Text struct {
	Tok      *tokenizer.Tokenizer // nil without one
	Source   string               // of the chat template; "" without one
	Specials Specials
}

// Specials are the tokens that templates call by name: bos_token and so on, as tokenizer_config.json spells them.
type Specials map[string]string

const maxTextFile = 16 << 20 // bytes of a template or a configuration

// OpenText reads the texts of a model folder, which may hold nothing else. A file that is named takes the folder's place.
func OpenText(model, tokenizerFile, templateFile string) (*Text, error) {
	t := &Text{Specials: Specials{}}
	folder := model
	if folder == "" {
		folder = filepath.Dir(tokenizerFile)
	}
	if tokenizerFile != "" || model != "" {
		if err := t.readTokenizer(folder, tokenizerFile); err != nil {
			return nil, err
		}
	}
	if err := t.readConfig(filepath.Join(folder, "tokenizer_config.json")); err != nil {
		return nil, err
	}
	if templateFile == "" && model != "" {
		if at := filepath.Join(model, "chat_template.jinja"); exists(at) {
			templateFile = at
		}
	}
	if templateFile != "" {
		source, err := readSmall(templateFile)
		if err != nil {
			return nil, refusedText(problem.Template, templateFile, err)
		}
		t.Source = string(source)
	}
	return t, nil
}

// readTokenizer reads the tokenizer of a folder, or a file in place of its tokenizer.json.
func (t *Text) readTokenizer(folder, file string) (err error) {
	named := file != ""
	if !named {
		file = filepath.Join(folder, "tokenizer.json")
	}
	var data []byte
	if named || exists(file) {
		if data, err = ReadTokenizer(file); err != nil {
			return err
		}
	}
	at := filepath.Join(folder, "tokenizer_config.json")
	config, err := readSmall(at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refusedText(problem.Tokenizer, at, err)
	}
	t.Tok, err = readTokenizer(folder, file, data, config, 0)
	return err
}

func refusedText(code problem.Code, path string, err error) error {
	var p *problem.Problem
	if errors.As(err, &p) {
		return err
	}
	return &problem.Problem{Code: code, Where: path, What: err.Error(), Fix: "mend the file, or name another", Err: err}
}

func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxTextFile {
		err = errors.New("the file is larger than any template or configuration")
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// readConfig takes the named tokens, and the template where it is written there, out of tokenizer_config.json.
func (t *Text) readConfig(path string) error {
	data, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refusedText(problem.Tokenizer, path, err)
	}
	if t.Specials, err = ReadSpecials(data); err != nil {
		return refusedText(problem.Tokenizer, path, err)
	}
	var c struct {
		Template json.RawMessage `json:"chat_template"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return refusedText(problem.Tokenizer, path, err)
	}
	var named []struct{ Name, Template string }
	switch {
	case len(c.Template) == 0:
	case json.Unmarshal(c.Template, &t.Source) == nil:
	case json.Unmarshal(c.Template, &named) == nil:
		for _, n := range named {
			if n.Name == "default" {
				t.Source = n.Template
			}
		}
	}
	return nil
}

// ReadSpecials finds the named tokens in the text of a tokenizer_config.json. A token is text, or an object with content.
func ReadSpecials(config []byte) (Specials, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(config, &fields); err != nil {
		return nil, err
	}
	s := Specials{}
	for _, name := range []string{"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"} {
		var text string
		var object struct{ Content string }
		if json.Unmarshal(fields[name], &text) == nil {
			object.Content = text
		} else if json.Unmarshal(fields[name], &object) != nil {
			continue
		}
		if object.Content != "" {
			s[name] = object.Content
		}
	}
	return s, nil
}

// Options are what a template sees of the specials.
func (s Specials) Options() chat.JinjaOptions {
	o := chat.JinjaOptions{BOS: s["bos_token"], EOS: s["eos_token"]}
	for _, name := range []string{"unk_token", "pad_token", "sep_token", "cls_token", "mask_token"} {
		if text := s[name]; text != "" {
			o.Kwargs = append(o.Kwargs, chat.Member{Name: name, Value: chat.String(text)})
		}
	}
	return o
}
