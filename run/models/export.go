// Writing models: what was trained, and an existing folder in another form.

package models

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"molt/engine"
	"molt/engine/local"
	"molt/internal/spell"
	"molt/run/problem"
	"molt/weights"
)

// Form is how a model is written.
type Form struct {
	DType    string // of the weights, such as f32, in which nothing is lost
	MaxShard int64  // bytes of weights in one file; 0 writes one
}

// Export writes weights of this model's shape, an adapter merged into them, with its tokenizer and templates, as a Hugging
// Face folder.
func (m *Model) Export(dir string, w engine.Weights, f Form) error {
	to, err := weights.ParseDType(f.DType)
	if err != nil {
		return &problem.Problem{Code: problem.Setting, Where: "ckpt.dtype", What: err.Error(), Fix: "write f32, bf16 or f16", Err: err}
	}
	return m.write(dir, local.Merge(w), int64(w.Version), weights.Form{DType: to, MaxShard: f.MaxShard})
}

func (m *Model) write(dir string, w engine.Weights, step int64, form weights.Form) error {
	out := m.written()
	out.Step, out.Form = step, form
	for _, t := range w.Tensors {
		out.Tensors = append(out.Tensors, weights.Tensor(t))
	}
	if _, err := weights.WriteFolder(dir, out); err != nil {
		return unwritten(dir, err, "make room or choose another folder; the same command resumes", "choose f32 or bf16 (ckpt.dtype); the same command writes it")
	}
	return nil
}

// unwritten is a model that could not be written.
func unwritten(dir string, err error, fix, wider string) error {
	p := &problem.Problem{Code: problem.Resource, Where: dir, What: "cannot write the model", Why: err.Error(), Fix: fix, Err: err}
	if errors.Is(err, weights.ErrTooLarge) {
		p.Code, p.Fix = problem.Setting, wider
	}
	return p
}

// written is the model as it is written, without weights.
func (m *Model) written() weights.Model {
	return weights.Model{Config: m.Config, EOS: m.EOS, Texts: m.texts}
}

// ConvertConfig says what to write in another form.
type ConvertConfig struct {
	Model    string
	Out      string // folder to write: new or empty
	DType    string // of the written weights, such as bfloat16; "" keeps what all of the folder's weights have, else float32
	MaxShard int64  // bytes of weights in one file; 0 writes one
}

// Converted is what came of it.
type Converted struct {
	Out         string          `json:"out"`
	From        []weights.DType `json:"from"` // types of the weights that were read
	To          weights.DType   `json:"to"`
	Exact       bool            `json:"exact"` // every type that was read fits into the written one: no value was rounded
	Files       int             `json:"files"` // that hold weights
	Fingerprint string          `json:"fingerprint"`
}

// Convert writes the model folder in another type, or in shards. One tensor is in memory at a time.
func Convert(c ConvertConfig) (*Converted, error) {
	if err := (InitConfig{Out: c.Out}).empty(); err != nil {
		return nil, err
	}
	folder, err := weights.ReadFolder(c.Model)
	if err != nil {
		return nil, unusable(c.Model, "", err)
	}
	defer folder.Close()
	out := &Converted{Out: c.Out, From: folder.DTypes()}
	to, err := c.dtype(out.From)
	if err != nil {
		return nil, &problem.Problem{Code: problem.Usage, Where: "--dtype", What: err.Error(), Fix: "write float32, bfloat16 or float16", Err: err}
	}
	form := opened(c.Model, folder).written()
	if form.Tokenizer == nil { // of older files, which are not written
		tok, err := readTokenizer(c.Model, folder.Texts, folder.Config.VocabSize)
		if err != nil {
			return nil, err
		}
		form.Tokenizer = tok.JSON()
	}
	form.DType, form.MaxShard = to, c.MaxShard
	if err := makeAround(c.Out); err != nil {
		return nil, err
	}
	if folder.Manifest != nil {
		form.Step = folder.Manifest.Step
	}
	manifest, err := folder.Convert(c.Out, form)
	if err != nil {
		return nil, unwritten(c.Out, err, "make room or choose another folder", "choose float32 or bfloat16")
	}
	out.To, out.Exact, out.Fingerprint = to, !slices.ContainsFunc(out.From, func(from weights.DType) bool { return !from.FitsInto(to) }), manifest.Fingerprint
	for _, f := range manifest.Files {
		if filepath.Ext(f.Name) == ".safetensors" {
			out.Files++
		}
	}
	return out, nil
}

// dtype is the type that is wanted.
func (c ConvertConfig) dtype(from []weights.DType) (weights.DType, error) {
	switch {
	case c.DType != "":
		return weights.ParseDType(c.DType)
	case len(from) == 1 && from[0].TorchName() != "":
		return from[0], nil
	}
	return weights.F32, nil
}

func (c *Converted) String() string {
	s := fmt.Sprintf("wrote %s: %s to %s in %d files", spell.Quoted(c.Out), strings.Trim(fmt.Sprint(c.From), "[]"), c.To, c.Files)
	if c.Files == 1 {
		s = strings.TrimSuffix(s, "s")
	}
	if c.Exact {
		return s + "; every value is the one that was read\n"
	}
	return s + "; values are rounded to the nearest, so this model's log-probs are not bit for bit those of the other\n"
}
