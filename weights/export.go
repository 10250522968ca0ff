// Writing a model as a Hugging Face folder.

package weights

import (
	"encoding/json/v2"
	"fmt"
	"slices"
)

// Form is how weights lie in files.
type Form struct {
	DType    DType // of the values, rounded to nearest even; "" is F32, in which nothing is lost
	MaxShard int64 // bytes of tensors in one file; a larger tensor has a file of its own. 0 writes one file
}

// Model is what WriteFolder writes. Byte slices are copied through unread; nil ones are left out.
type Model struct {
	Form
	Texts
	Config  ModelConfig
	EOS     []int32 // generation_config.json where Generation is nil; empty leaves it out
	Step    int64   // optimizer step that made the weights, for the manifest
	Tensors []Tensor
}

// WriteFolder writes m to dir, which must not exist or be empty. It is there completely or not at all. The tensors must
// be those that the configuration calls for, and finite.
func WriteFolder(dir string, m Model) (Manifest, error) { return writeFolder(osDisk{}, dir, m) }

func writeFolder(d disk, dir string, m Model) (Manifest, error) {
	if err := m.check(); err != nil {
		return Manifest{}, fmt.Errorf("weights: write %s: %w", dir, err)
	}
	manifest, err := writeDir(d, dir, m.Step, m.fill)
	if err != nil {
		return Manifest{}, fmt.Errorf("weights: write %s: %w", dir, err)
	}
	return manifest, nil
}

func (m Model) check() error {
	if err := m.Config.validate(); err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	have := make(map[string][]int, len(m.Tensors))
	for _, t := range m.Tensors {
		have[t.Name] = t.Shape
	}
	specs := m.Config.Tensors()
	for _, s := range specs {
		shape, ok := have[s.Name]
		if !ok {
			return fmt.Errorf("tensor %q is missing, which the configuration calls for", s.Name)
		}
		if !slices.Equal(shape, s.Shape) {
			return fmt.Errorf("tensor %q: has shape %v but the configuration calls for %v", s.Name, shape, s.Shape)
		}
		delete(have, s.Name)
	}
	for name := range have {
		return fmt.Errorf("tensor %q is not part of a %s of this configuration", name, m.Config.Architecture)
	}
	if m.Tokenizer == nil {
		return nil
	}
	id, token, err := topID(m.Tokenizer)
	if err != nil {
		return fmt.Errorf("tokenizer.json: %w", err)
	}
	if id >= int64(m.Config.VocabSize) {
		return fmt.Errorf("tokenizer.json: token %q has id %d but the embedding has only %d rows", token, id, m.Config.VocabSize)
	}
	return nil
}

func (m Model) fill(w *draft) error {
	specs := make([]Spec, len(m.Tensors))
	for i, t := range m.Tensors {
		specs[i] = Spec{t.Name, t.Shape}
	}
	if err := m.fillTexts(w); err != nil {
		return err
	}
	tensors := func(yield func(Tensor, error) bool) {
		for _, t := range m.Tensors {
			if !yield(t, nil) {
				return
			}
		}
	}
	return w.stream(Stream{Form: m.Form, Specs: specs, Tensors: tensors})
}

// Convert writes the model of the folder to dir, which must not exist or be empty, in another form. m says what goes beside
// the weights. One tensor is in memory at a time.
func (f *Folder) Convert(dir string, m Model) (Manifest, error) {
	written, err := writeDir(osDisk{}, dir, m.Step, func(w *draft) error {
		if err := m.fillTexts(w); err != nil {
			return err
		}
		return w.stream(Stream{Form: m.Form, Specs: f.Config.Tensors(), Tensors: f.Tensors()})
	})
	if err != nil {
		return Manifest{}, fmt.Errorf("weights: write %s: %w", dir, err)
	}
	return written, nil
}

// fillTexts writes everything but the weights.
func (m Model) fillTexts(w *draft) error {
	config, err := marshalConfig(m.Config, m.DType)
	if err != nil {
		return err
	}
	if err := w.bytes("config.json", config); err != nil {
		return err
	}
	if m.Generation == nil && len(m.EOS) > 0 {
		m.Generation, err = json.Marshal(struct {
			BOS *int32  `json:"bos_token_id,omitzero"`
			EOS []int32 `json:"eos_token_id"`
		}{m.Config.BOS, m.EOS})
		if err != nil {
			return err
		}
	}
	for _, p := range m.files() {
		if err := w.bytes(p.name, *p.text); err != nil {
			return err
		}
	}
	return w.folder(templatesName, m.Templates)
}
