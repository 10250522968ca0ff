// What turns text into ids and back, and conversations into text, without the weights: tokenizer, chat templates, and the
// tokens that templates call by name.

package models

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"molt/chat"
	"molt/internal/spell"
	"molt/run/problem"
	"molt/tokenizer"
	"molt/weights"
)

// Text is a tokenizer, chat templates, or both.
type Text struct {
	Tok      *tokenizer.Tokenizer // nil without one
	Sources  []chat.Source        // of the chat templates
	Template string               // name of the one to use; "" chooses for each conversation
	Options  chat.JinjaOptions    // what templates see of the tokenizer
}

// TextFiles says where they are. At least one of Model, Tokenizer and Template is given.
type TextFiles struct {
	Model     string // folder, which may hold nothing else; "" is that of Tokenizer
	Tokenizer string // a tokenizer.json in place of the folder's
	Template  string // a template in place of the folder's
	Named     string // name of one of the folder's templates; "" chooses for each conversation
}

// Open reads the texts.
func (f TextFiles) Open() (*Text, error) {
	texts, dir, err := f.read()
	if err != nil {
		return nil, err
	}
	t := &Text{Options: templateOptions(nil)}
	if dir != "" {
		if t, err = newText(dir, texts, 0); err != nil {
			return nil, err
		}
	}
	t.Template = f.Named
	if f.Template != "" {
		source, err := readSmall(f.Template)
		if err != nil {
			return nil, &problem.Problem{Code: problem.Template, Where: f.Template, What: problem.Reason(err), Fix: "mend the file, or name another", Err: err}
		}
		t.Sources = []chat.Source{{Name: chat.DefaultTemplate, Text: string(source)}}
	}
	if f.Named != "" && !slices.ContainsFunc(t.Sources, func(s chat.Source) bool { return s.Name == f.Named }) {
		return nil, &problem.Problem{Code: problem.Template, Where: dir, What: fmt.Sprintf("no chat template is called %q", f.Named), Fix: t.choice()}
	}
	return t, nil
}

// read finds the files. dir is the folder that they are from, "" when there is none.
func (f TextFiles) read() (texts weights.Texts, dir string, err error) {
	dir = f.Model
	if dir == "" && f.Tokenizer != "" {
		dir = filepath.Dir(f.Tokenizer)
	}
	if dir == "" {
		return texts, "", nil
	}
	if texts, err = weights.ReadTexts(dir); err != nil {
		return texts, dir, unusable(dir, "", err)
	}
	if f.Tokenizer != "" {
		texts.Tokenizer, err = ReadTokenizer(f.Tokenizer)
	}
	return texts, dir, err
}

// newText makes sense of the texts of the folder dir. rows is the number of rows of the embedding, 0 where there is no model.
func newText(dir string, texts weights.Texts, rows int) (*Text, error) {
	tok, err := readTokenizer(dir, texts, rows)
	if err != nil {
		return nil, err
	}
	named, err := tokenFiles(texts).Named()
	if err != nil {
		return nil, &problem.Problem{Code: problem.Tokenizer, Where: dir, What: err.Error(), Fix: "mend the file", Err: err}
	}
	sources, err := readSources(texts)
	if err != nil {
		return nil, &problem.Problem{Code: problem.Template, Where: dir, What: err.Error(), Fix: "mend the chat templates, or choose another model", Err: err}
	}
	return &Text{Tok: tok, Sources: sources, Options: templateOptions(named)}, nil
}

// choice says which templates there are.
func (t *Text) choice() string {
	var names []string
	for _, s := range t.Sources {
		names = append(names, spell.Quoted(s.Name))
	}
	if len(names) == 0 {
		return "the model has no chat template; name a file with --template"
	}
	return "it has " + strings.Join(names, ", ")
}

// PromptDate is the day that templates show which show today's: the same in every run, so that a run that goes on tomorrow,
// and the model that it leaves, see the prompts of today. It is the one that Llama's templates show without a date.
var PromptDate = time.Date(2024, time.July, 26, 0, 0, 0, 0, time.UTC)

// templateOptions are what a template sees of named tokens.
func templateOptions(named []tokenizer.NamedToken) chat.JinjaOptions {
	o := chat.JinjaOptions{Now: PromptDate}
	for _, t := range named {
		switch t.Name {
		case "bos_token":
			o.BOS = t.Content
		case "eos_token":
			o.EOS = t.Content
		default:
			o.Kwargs = append(o.Kwargs, chat.Member{Name: t.Name, Value: chat.String(t.Content)})
		}
	}
	return o
}

const maxTextFile = 16 << 20 // bytes of a template

func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxTextFile {
		err = errors.New("the file is larger than any template")
	}
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("is a folder")}
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
