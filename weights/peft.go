// Adapters as PEFT keeps them: adapter_config.json says how, adapter_model.safetensors holds the two factors of each
// adapted matrix. What we write has our manifest too, and molt-adapter.json, which names the base by its fingerprint.

package weights

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
)

const (
	adapterConfigName  = "adapter_config.json"
	adapterTensorsName = "adapter_model.safetensors"
	adapterOursName    = "molt-adapter.json"

	peftPrefix = "base_model.model."
	factorA    = ".lora_A.weight"
	factorB    = ".lora_B.weight"
)

// Adapter is a low-rank update of projections: W0 + scale · B A, where scale is Alpha/Rank, or Alpha/sqrt(Rank) with RSLoRA.
type Adapter struct {
	Rank    int
	Alpha   float64
	RSLoRA  bool
	Dropout float64 // with which it was trained; nothing but training reads it
	Model   string  // where the base was; "" when the folder does not say
	Base    string  // Fingerprint of the base; "" when the folder does not say
	Step    int64   // optimizer step that made it
	Tensors []Tensor
}

// Adapted names the matrices that the adapter changes, without .weight, in its order.
func (a Adapter) Adapted() []string {
	var names []string
	for _, t := range a.Tensors {
		if name, ok := strings.CutSuffix(t.Name, factorA); ok {
			names = append(names, name)
		}
	}
	return names
}

// Fingerprint names the contents of a model with an adapter: those of its base, and everything of the adapter that changes
// the model.
func (a Adapter) Fingerprint(base string) string {
	how := fmt.Sprintf("rank %d, alpha %x, rslora %t", a.Rank, a.Alpha, a.RSLoRA)
	return hexSum([]byte("base " + base + ", adapter " + Fingerprint(a.Tensors) + ", " + how))
}

// Check reports the first thing that keeps the adapter from changing a model of these tensors.
func (a Adapter) Check(tensors []Spec) error {
	if a.Rank < 1 || a.Rank > maxAdapterRank || !(a.Alpha > 0 && a.Alpha <= math.MaxFloat32) {
		return fmt.Errorf("rank %d with alpha %v; the rank must be between 1 and %d, and alpha above 0", a.Rank, a.Alpha, maxAdapterRank)
	}
	shapes := map[string][]int{}
	for _, s := range tensors {
		if name, ok := projection(s); ok {
			shapes[name] = s.Shape
		}
	}
	have := map[string]bool{}
	for _, t := range a.Tensors {
		name, end := t.Name, ""
		for _, e := range []string{factorA, factorB} {
			if before, ok := strings.CutSuffix(t.Name, e); ok {
				name, end = before, e
			}
		}
		shape, ok := shapes[name]
		switch {
		case end == "" || !ok:
			return fmt.Errorf("tensor %q is no factor of a projection of the model", t.Name)
		case have[t.Name]:
			return fmt.Errorf("tensor %q comes twice", t.Name)
		}
		if err := t.check(); err != nil {
			return err
		}
		have[t.Name] = true
		if want := map[string][]int{factorA: {a.Rank, shape[1]}, factorB: {shape[0], a.Rank}}[end]; !slices.Equal(t.Shape, want) {
			return fmt.Errorf("tensor %q: has shape %v but rank %d on this model calls for %v; the adapter belongs to another model", t.Name, t.Shape, a.Rank, want)
		}
	}
	for name := range have {
		for _, pair := range [][2]string{{factorA, factorB}, {factorB, factorA}} {
			if matrix, ok := strings.CutSuffix(name, pair[0]); ok && !have[matrix+pair[1]] {
				return fmt.Errorf("tensor %q is missing beside %q", matrix+pair[1], name)
			}
		}
	}
	if len(have) == 0 {
		return errors.New("there is no tensor")
	}
	return nil
}

// ReadAdapter opens and checks the PEFT folder dir for a model of these tensors. Every setting that would change the
// mathematics in a way that is not known here is refused by name.
func ReadAdapter(dir string, tensors []Spec) (Adapter, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Adapter{}, fmt.Errorf("weights: read adapter %s: %w", dir, cause(err))
	}
	defer root.Close()
	a, err := readAdapter(root, tensors)
	if err != nil {
		return Adapter{}, fmt.Errorf("weights: read adapter %s: %w", dir, err)
	}
	return a, nil
}

func readAdapter(root *os.Root, tensors []Spec) (Adapter, error) {
	manifest, err := readManifest(root)
	if err != nil {
		return Adapter{}, err
	}
	f := &Folder{Manifest: manifest}
	config, err := f.Manifest.text(root, adapterConfigName, maxSmallFile)
	switch {
	case err != nil:
		return Adapter{}, err
	case config == nil:
		return Adapter{}, fmt.Errorf("%s is missing; this is not a PEFT folder", adapterConfigName)
	}
	a, chosen, err := parseAdapterConfig(config, tensors)
	if err != nil {
		return Adapter{}, fmt.Errorf("%s: %w", adapterConfigName, err)
	}
	if a.Base, err = readBase(f, root); err != nil {
		return Adapter{}, fmt.Errorf("%s: %w", adapterOursName, err)
	}
	if manifest != nil {
		a.Step = manifest.Step
	}
	if a.Tensors, err = readFactors(root, manifest); err != nil {
		return Adapter{}, err
	}
	if err := a.Check(tensors); err != nil {
		return Adapter{}, fmt.Errorf("%s: %w", adapterTensorsName, err)
	}
	if got := slices.Sorted(slices.Values(a.Adapted())); !slices.Equal(got, slices.Sorted(slices.Values(chosen))) {
		return Adapter{}, fmt.Errorf("%s: adapts %d matrices but target_modules in %s choose %d; the file is not whole, or one of the two was changed",
			adapterTensorsName, len(got), adapterConfigName, len(chosen))
	}
	return a, nil
}

// readBase reads the fingerprint of the base that we noted; "" when the folder is not ours.
func readBase(f *Folder, root *os.Root) (string, error) {
	data, err := f.Manifest.text(root, adapterOursName, maxSmallFile)
	if data == nil || err != nil {
		return "", err
	}
	var ours struct {
		Base string `json:"base"`
	}
	if err := json.Unmarshal(data, &ours, json.RejectUnknownMembers(true)); err != nil {
		return "", shorten(err)
	}
	return ours.Base, nil
}

// readFactors reads the tensors, sorted by name and without PEFT's prefix.
func readFactors(root *os.Root, m *Manifest) (tensors []Tensor, err error) {
	file, err := openIn(root, adapterTensorsName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing (adapter_model.bin holds code that loading would run; save the adapter again with safe_serialization)", adapterTensorsName)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := m.verify(adapterTensorsName, file.bytes); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(slices.Values(file.Names())) {
		t, err := file.Tensor(name)
		if err != nil {
			return nil, err
		}
		var ok bool
		if t.Name, ok = strings.CutPrefix(name, peftPrefix); !ok {
			return nil, fmt.Errorf("%s: tensor %q does not begin with %s; it is no adapter of PEFT's", adapterTensorsName, name, peftPrefix)
		}
		tensors = append(tensors, t)
	}
	return tensors, nil
}

// WriteAdapter writes a as a PEFT folder to dir, which must not exist or be empty: there completely or not at all. tensors
// are those of its base.
func WriteAdapter(dir string, a Adapter, tensors []Spec) (Manifest, error) {
	if err := a.Check(tensors); err != nil {
		return Manifest{}, fmt.Errorf("weights: write adapter %s: %w", dir, err)
	}
	m, err := writeDir(osDisk{}, dir, a.Step, func(w *draft) error { return a.fill(w, tensors) })
	if err != nil {
		return Manifest{}, fmt.Errorf("weights: write adapter %s: %w", dir, err)
	}
	return m, nil
}

func (a Adapter) fill(w *draft, tensors []Spec) error {
	config, err := a.marshalConfig(a.Modules(tensors))
	if err != nil {
		return err
	}
	ours, err := json.Marshal(map[string]string{"base": a.Base})
	if err != nil {
		return err
	}
	named := slices.Clone(a.Tensors)
	for i := range named {
		named[i].Name = peftPrefix + named[i].Name
	}
	return errors.Join(w.bytes(adapterConfigName, config), w.bytes(adapterOursName, bytes.TrimSpace(ours)), w.tensors(adapterTensorsName, named))
}
