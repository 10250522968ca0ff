// A model as the user names it: a Hugging Face folder, opened and checked as a whole.

package models

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"
	"strings"

	"molt/chat"
	"molt/chat/parse"
	"molt/engine"
	"molt/engine/local"
	"molt/numeric/model"
	"molt/run/problem"
	"molt/tokenizer"
	"molt/weights"
)

// Model is an open model: weights, tokenizer, chat template.
type Model struct {
	Path      string
	Config    weights.ModelConfig
	EOS       []int32
	Shape     model.Config
	Weights   engine.Weights
	DTypes    []weights.DType // of the stored weights; they are computed with in float32
	Steps     int64           // optimizer steps that made the weights, where the folder says so
	Adapter   string          // PEFT folder of the adapter on the weights; "" for none
	Dropout   float64         // with which that adapter was trained
	Tok       *tokenizer.Tokenizer
	Options   chat.JinjaOptions // what its chat templates see of it
	Template  *chat.Templates   // nil without one
	Renderer  *chat.Renderer    // nil when the model has no chat template: it completes text and holds no conversation
	Family    *parse.Family     // the syntax of its replies; nil without a chat template
	FamilyWhy string            // what Family was found by; "" for the plain one

	sources []chat.Source // of the chat templates, in the order of the folder
	texts   weights.Texts // copied through on export
}

// Open reads the folder at path, or says in one sentence why it is refused.
func Open(path string) (*Model, error) {
	if err := pointToBase(path); err != nil {
		return nil, err
	}
	if path == "" {
		return nil, &problem.Problem{Code: problem.Setting, What: "no model", Fix: "name a Hugging Face model folder with --model.model_name_or_path"}
	}
	folder, err := weights.ReadFolder(path)
	if err != nil {
		return nil, unusable(path, "", err)
	}
	defer folder.Close()
	m := opened(path, folder)
	m.DTypes = folder.DTypes()
	if m.Shape, m.Weights, err = local.Read(folder); err != nil {
		return nil, unusable(path, path, err)
	}
	return m, m.readTexts()
}

// opened is the model in a folder, but for its weights and what its texts mean.
func opened(path string, folder *weights.Folder) *Model {
	m := &Model{Path: path, Config: folder.Config, EOS: folder.EOS, texts: folder.Texts}
	if folder.Manifest != nil {
		m.Steps = folder.Manifest.Step
	}
	return m
}

// unusable is a model folder, given by its name, that cannot be used.
func unusable(name, path string, err error) error {
	p := &problem.Problem{Code: problem.Model, Where: path, What: err.Error(), Fix: "mend the folder, or choose another model", Err: err}
	if errors.Is(err, fs.ErrNotExist) && !exists(name) {
		p.Where, p.What, p.Fix = name, "there is no such model", nearbyModels(name)
		if !strings.ContainsAny(name, `/\`) {
			p.Fix += "; a name without a slash is a folder here, and models of the hub are called org/name"
		}
	}
	if problem.Lacking(err) {
		p.Code, p.Fix = problem.Resource, "make room in memory; the same command goes on"
	}
	return p
}

// readTexts opens tokenizer and templates.
func (m *Model) readTexts() error {
	text, err := newText(m.Path, m.texts, m.Config.VocabSize)
	if err != nil {
		return err
	}
	m.Tok, m.Options, m.sources = text.Tok, text.Options, text.Sources
	if m.texts.Tokenizer == nil {
		m.texts.Tokenizer = m.Tok.JSON() // of older files
	}
	if len(m.sources) == 0 {
		return nil
	}
	template, err := chat.NewTemplates(m.sources, "", m.Options)
	if err == nil {
		m.Template = template
		m.Renderer, err = chat.NewRenderer(template, m.Tok)
	}
	if err != nil {
		return &problem.Problem{Code: problem.Template, Where: m.Path, What: err.Error(), Fix: "mend chat_template.jinja, or choose another model", Err: err}
	}
	m.Family, m.FamilyWhy = parse.Detect(template.Source(), func(token string) bool { _, ok := m.Tok.ID(token); return ok })
	m.Renderer = m.Renderer.WithReader(m.Family.Reader())
	return nil
}

// NeedTemplate refuses a model that holds no conversation.
func (m *Model) NeedTemplate() error {
	if m.Renderer == nil {
		return &problem.Problem{Code: problem.Template, Where: m.Path, What: "the model has no chat template", Fix: "add a chat_template.jinja to the folder"}
	}
	if _, ok := m.Renderer.EndOfTurn(); !ok {
		return &problem.Problem{Code: problem.Template, Where: m.Path, What: "the chat template ends no turn with a control token, so a sampled turn has no end", Fix: "use a template that does, such as ChatML"}
	}
	return nil
}

// Release lets go of the weights, of which engines have copies. Their fingerprint stays, and the adapter.
func (m *Model) Release() {
	for i := range m.Weights.Tensors {
		m.Weights.Tensors[i].Data = nil
	}
	debug.FreeOSMemory()
}

// Identify adds to inputs everything of the model that a run depends on.
func (m *Model) Identify(inputs map[string]string) {
	inputs["model"] = m.Weights.Fingerprint
	inputs["model's config.json"] = fingerprint(fmt.Appendf(nil, "%+v", m.Shape), fmt.Append(nil, m.EOS))
	inputs["model's tokenizer.json"] = fingerprint(m.Tok.JSON())
	inputs["model's chat template"] = fingerprint([]byte(m.source()))
	for _, s := range m.sources {
		if s.Name != chat.DefaultTemplate {
			inputs["model's chat template "+s.Name] = fingerprint([]byte(s.Text))
		}
	}
}

// source is the text of the default chat template, "" without one.
func (m *Model) source() string {
	for _, s := range m.sources {
		if s.Name == chat.DefaultTemplate {
			return s.Text
		}
	}
	return ""
}

func fingerprint(parts ...[]byte) string {
	sum := sha256.Sum256(bytes.Join(parts, []byte{0}))
	return hex.EncodeToString(sum[:8])
}

// Stops are the ids that end a turn.
func (m *Model) Stops() []int32 {
	stops := slices.Clone(m.EOS)
	if m.Renderer == nil {
		return stops
	}
	if end, ok := m.Renderer.EndOfTurn(); ok && !slices.Contains(stops, end) {
		stops = append(stops, end)
	}
	return stops
}

// Engine sizes the engine for sequences of at most shape.MaxPositions tokens.
func Engine(threads, running, cacheMiB, microTokens int, shape model.Config) local.Config {
	c := local.Default()
	c.Threads = threads
	c.BatchTokens = max(microTokens, shape.MaxPositions)
	if running > 0 {
		c.Running = running
		c.StepTokens = max(c.StepTokens, running)
	}
	if cacheMiB > 0 {
		least := shape.MaxPositions/model.PageTokens + 2
		c.Pages = max(int(int64(cacheMiB)<<20/model.KVBytes(shape, 1)), least)
	}
	return c
}

// Bounded lowers the longest sequence of a shape: the engine reserves memory for it.
func Bounded(shape model.Config, maxLen int) (model.Config, error) {
	if maxLen > shape.MaxPositions {
		return shape, &problem.Problem{Code: problem.Setting, What: fmt.Sprintf("rollout.max_len is %d and the model sees at most %d tokens", maxLen, shape.MaxPositions), Fix: "lower rollout.max_len"}
	}
	shape.MaxPositions = maxLen
	return shape, nil
}
