// A model in a Hugging Face folder: config.json, safetensors in one file or in shards, and what the tokenizer and the
// chat template rooms read. ReadFolder checks that all of it belongs together before anything is used.

package weights

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
)

const (
	singleName = "model.safetensors"
	indexName  = "model.safetensors.index.json"

	maxTokenizer = 256 << 20 // bytes
	maxSmallFile = 16 << 20  // bytes
)

// Folder is an open model. Reading is safe for concurrent use; Close is not.
type Folder struct {
	Texts
	Config   ModelConfig
	EOS      []int32   // what ends a generation: generation_config.json's list, else config.json's
	Manifest *Manifest // nil when the folder was not written here

	dir   string
	files []*File
	in    map[string]*File // tensor → its file
}

// ReadFolder opens and checks the model in dir. When the folder has a manifest, every file must match it. Values are
// checked when they are read: all of them must be finite.
func ReadFolder(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("weights: read %s: %w", dir, cause(err))
	}
	defer root.Close()
	f := &Folder{dir: dir, in: make(map[string]*File)}
	if err := f.read(root); err != nil {
		return nil, fmt.Errorf("weights: read %s: %w", dir, errors.Join(err, f.Close()))
	}
	return f, nil
}

func (f *Folder) read(root *os.Root) (err error) {
	if f.Manifest, err = readManifest(root); err != nil {
		return err
	}
	config, err := f.Manifest.text(root, "config.json", maxSmallFile)
	if err != nil {
		return err
	}
	if config == nil {
		return errors.New("config.json is missing; this is not a Hugging Face model folder")
	}
	if f.Config, err = parseConfig(config); err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	if err := f.readTexts(root); err != nil {
		return err
	}
	if err := f.openTensors(root); err != nil {
		return err
	}
	return f.checkTensors()
}

// openTensors opens model.safetensors or the shards that the index names.
func (f *Folder) openTensors(root *os.Root) error {
	index, err := f.Manifest.text(root, indexName, maxManifest)
	if err != nil {
		return err
	}
	_, errSingle := root.Stat(singleName)
	single := !errors.Is(errSingle, fs.ErrNotExist)
	switch {
	case index == nil && !single:
		return fmt.Errorf("%s is missing (and there is no %s)", singleName, indexName)
	case index != nil && single:
		return fmt.Errorf("%s and %s both exist; delete the one that is not meant", singleName, indexName)
	case index == nil:
		return f.openShard(root, singleName, nil)
	}
	shards, err := parseIndex(index)
	if err != nil {
		return fmt.Errorf("%s: %w", indexName, err)
	}
	for _, s := range shards {
		if err := f.openShard(root, s.file, s.tensors); err != nil {
			return err
		}
	}
	return nil
}

// openShard opens one file. With an index, it must hold exactly the tensors that the index places in it.
func (f *Folder) openShard(root *os.Root, name string, want []string) error {
	file, err := openIn(root, name)
	if err != nil {
		return err
	}
	f.files = append(f.files, file)
	if err := file.verify(f.Manifest); err != nil {
		return err
	}
	placed := make(map[string]bool, len(want))
	for _, tensor := range want {
		placed[tensor] = true
		if _, ok := file.Shape(tensor); !ok {
			return fmt.Errorf("%s: places tensor %q in %s, which does not hold it", indexName, tensor, name)
		}
	}
	for _, tensor := range file.Names() {
		if want != nil && !placed[tensor] {
			return fmt.Errorf("%s: holds tensor %q, which %s does not place there", name, tensor, indexName)
		}
		f.in[tensor] = file
	}
	return nil
}

// checkTensors compares the tensors that are there with those that the configuration calls for.
func (f *Folder) checkTensors() error {
	specs := f.Config.Tensors()
	wanted := make(map[string]bool, len(specs))
	for _, s := range specs {
		wanted[s.Name] = true
		file, ok := f.in[s.Name]
		if !ok {
			return fmt.Errorf("%s: tensor %q is missing, which config.json calls for", f.where(), s.Name)
		}
		if shape, _ := file.Shape(s.Name); !slices.Equal(shape, s.Shape) {
			return fmt.Errorf("%s: tensor %q: has shape %v but config.json calls for %v", file.name, s.Name, shape, s.Shape)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.in)) {
		if wanted[name] || derived(name) {
			continue
		}
		if name == headName {
			if err := f.checkTied(); err != nil {
				return err
			}
			continue
		}
		return fmt.Errorf("%s: tensor %q is not part of a %s of this configuration", f.in[name].name, name, f.Config.Architecture)
	}
	return nil
}

// derived names a buffer of old Llama checkpoints that follows from rope_theta.
func derived(name string) bool { return strings.HasSuffix(name, ".self_attn.rotary_emb.inv_freq") }

// checkTied: a head that is stored although it is tied must be the embedding. They are compared in the files.
func (f *Folder) checkTied() error {
	head, headBytes := f.stored(headName)
	embedding, embeddingBytes := f.stored(embeddingName)
	same := head.dtype == embedding.dtype && slices.Equal(head.shape, embedding.shape)
	err := guard(func() error { same = same && bytes.Equal(headBytes, embeddingBytes); return nil })
	if err == nil && !same {
		err = fmt.Errorf("tensor %q differs from the embedding although config.json has tie_word_embeddings true", headName)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.where(), err)
	}
	return nil
}

// stored is a tensor's place in its file, and its bytes.
func (f *Folder) stored(name string) (place, []byte) {
	file := f.in[name]
	p := file.layout.tensors[file.indices[name]]
	return p, file.layout.data[p.from:p.to]
}

func (f *Folder) where() string {
	if len(f.files) == 1 {
		return f.files[0].name
	}
	return indexName
}

// Tensors reads the tensors of Config.Tensors in their order, each into memory of its own. It ends at the first error.
func (f *Folder) Tensors() iter.Seq2[Tensor, error] {
	return func(yield func(Tensor, error) bool) {
		for _, s := range f.Config.Tensors() {
			t, err := f.in[s.Name].Tensor(s.Name)
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// Load reads all tensors of Config.Tensors, several at once, each into memory of its own, and fingerprints them.
func (f *Folder) Load() (tensors []Tensor, fingerprint string, err error) {
	specs := f.Config.Tensors()
	tensors = make([]Tensor, len(specs))
	digests, errs := make([]TensorDigest, len(specs)), make([]error, len(specs))
	abreast(len(specs), func(i int) {
		if tensors[i], errs[i] = f.in[specs[i].Name].Tensor(specs[i].Name); errs[i] == nil {
			digests[i] = digest(tensors[i])
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, "", err
		}
	}
	return tensors, combine(digests), nil
}

// DTypes lists the types of the stored values, sorted.
func (f *Folder) DTypes() []DType {
	types := map[DType]bool{}
	for _, s := range f.Config.Tensors() {
		t, _ := f.in[s.Name].DType(s.Name)
		types[t] = true
	}
	return slices.Sorted(maps.Keys(types))
}

// Close gives the mappings back.
func (f *Folder) Close() error {
	var errs []error
	for _, file := range f.files {
		errs = append(errs, file.Close())
	}
	f.files = nil
	return errors.Join(errs...)
}
