package weights

import (
	"encoding/json/v2"
	"flag"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var writtenFolder = flag.String("written", "", "folder in which TestWriteForPython leaves one model of each dtype")

// rule gives values that every dtype rounds in its own way.
func rule(s Spec) Tensor {
	t := Tensor{s.Name, s.Shape, make([]float32, s.bytes(E4M3))}
	for i := range t.Data {
		t.Data[i] = float32(i*37%101-50) / 64
	}
	return t
}

func streamOf(specs []Spec, dtype DType, maxShard int64) Stream {
	return Stream{Form: Form{dtype, maxShard}, Specs: specs, Tensors: func(yield func(Tensor, error) bool) {
		for _, s := range specs {
			if !yield(rule(s), nil) {
				return
			}
		}
	}}
}

// TestEveryDType reads a file that PyTorch wrote.
func TestEveryDType(t *testing.T) {
	var want map[string]struct {
		Shape []int
		Bits  []uint32
	}
	readJSON(t, "testdata/golden/every.json", &want)
	f, err := Open("testdata/golden/every.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(f.Names()) != len(want) || len(want) < 17 {
		t.Errorf("the file holds %d tensors, not %d", len(f.Names()), len(want))
	}
	for name, w := range want {
		got, err := f.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		var bits []uint32
		for _, v := range got.Data {
			bits = append(bits, math.Float32bits(v))
		}
		if !slices.Equal(got.Shape, w.Shape) || !slices.Equal(bits, w.Bits) {
			t.Errorf("%s: got %v of shape %v, want bits %v of shape %v", name, got.Data, got.Shape, w.Bits, w.Shape)
		}
	}
}

// TestShardsOfTransformers reads a sharded bfloat16 model that transformers saved, and writes its index again.
func TestShardsOfTransformers(t *testing.T) {
	const dir = "testdata/golden/sharded"
	var want map[string]string
	readJSON(t, dir+"/digests.json", &want)
	f, err := ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for tensor, err := range f.Tensors() {
		if err != nil {
			t.Fatal(err)
		}
		if canonical(tensor.Data) != want[tensor.Name] {
			t.Errorf("%s differs from what transformers saved", tensor.Name)
		}
		delete(want, tensor.Name)
	}
	if len(want) > 0 {
		t.Errorf("not read: %v", want)
	}
	index, err := os.ReadFile(filepath.Join(dir, indexName))
	if err != nil {
		t.Fatal(err)
	}
	shards, err := parseIndex(index)
	if err != nil {
		t.Fatal(err)
	}
	var plan []planned
	for _, s := range shards {
		p := planned{file: s.file}
		for _, name := range s.tensors {
			shape, _ := f.in[name].Shape(name)
			p.specs = append(p.specs, Spec{name, shape})
		}
		plan = append(plan, p)
	}
	if got, err := marshalIndex(plan, BF16); err != nil || string(got) != string(index) {
		t.Errorf("our index is\n%s (%v)\ntransformers' is\n%s", got, err, index)
	}
}

func TestStreamShards(t *testing.T) {
	specs := []Spec{{"a", []int{4}}, {"big", []int{100}}, {"b", []int{2, 2}}, {"c", []int{4}}, {"d", []int{5}}}
	for _, c := range []struct {
		max  int64
		want string
	}{
		{0, "model.safetensors: a big b c d"},
		{40, "model-00001-of-00004.safetensors: a, model-00002-of-00004.safetensors: big, model-00003-of-00004.safetensors: b c, model-00004-of-00004.safetensors: d"},
	} {
		var got []string
		for _, shard := range streamOf(specs, F32, c.max).plan() {
			var names []string
			for _, s := range shard.specs {
				names = append(names, s.Name)
			}
			got = append(got, shard.file+": "+strings.Join(names, " "))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("at most %d bytes: got %s, want %s", c.max, s, c.want)
		}
	}
}

// TestStreamComesBack writes shards of each dtype and reads them through the index and the manifest.
func TestStreamComesBack(t *testing.T) {
	config, err := os.ReadFile("testdata/golden/sharded/config.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, dtype := range []DType{F64, F32, F16, BF16, E4M3, E5M2} {
		dir := filepath.Join(t.TempDir(), "out")
		m, err := WriteStream(dir, []Text{{"config.json", config}}, streamOf(c.Tensors(), dtype, 3000))
		if err != nil {
			t.Fatal(err)
		}
		f, err := ReadFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []Tensor
		for tensor, err := range f.Tensors() {
			if err != nil {
				t.Fatal(err)
			}
			want := rule(Spec{tensor.Name, tensor.Shape})
			bytes, err := Encode(nil, want.Data, dtype)
			if err != nil {
				t.Fatal(err)
			}
			if err := Decode(want.Data, bytes, dtype); err != nil || !slices.Equal(tensor.Data, want.Data) {
				t.Errorf("%s: %s came back as other values", dtype, tensor.Name)
			}
			got = append(got, tensor)
		}
		if len(f.files) < 2 || m.Fingerprint != Fingerprint(got) {
			t.Errorf("%s: %d files, fingerprint %s, want %s", dtype, len(f.files), m.Fingerprint, Fingerprint(got))
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestStreamKeepsNothing: every tensor is written before the next is asked for, so one buffer serves them all.
func TestStreamKeepsNothing(t *testing.T) {
	specs := []Spec{{"a", []int{50_000}}, {"b", []int{50_000}}, {"c", []int{50_000}}}
	buffer := make([]float32, 50_000)
	dir := filepath.Join(t.TempDir(), "out")
	_, err := WriteStream(dir, nil, Stream{Form: Form{MaxShard: 300_000}, Specs: specs, Tensors: func(yield func(Tensor, error) bool) {
		for i, s := range specs {
			for j := range buffer {
				buffer[j] = float32(i)
			}
			if !yield(Tensor{s.Name, s.Shape, buffer}, nil) {
				return
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range specs {
		f, err := Open(filepath.Join(dir, fmt.Sprintf("model-%05d-of-00003.safetensors", i+1)))
		if err != nil {
			t.Fatal(err)
		}
		x, err := f.Tensor(s.Name)
		if err != nil || x.Data[0] != float32(i) || x.Data[49_999] != float32(i) {
			t.Errorf("%s: got %v … %v, %v", s.Name, x.Data[0], x.Data[49_999], err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestStreamRefuses(t *testing.T) {
	specs := []Spec{{"a", []int{2}}, {"b", []int{3}}}
	a, b := rule(specs[0]), rule(specs[1])
	inf := Tensor{"b", []int{3}, []float32{0, float32(math.Inf(1)), 0}}
	huge := Tensor{"b", []int{3}, []float32{0, 1e6, 0}}
	for want, tensors := range map[string][]Tensor{
		`tensor "b" of shape [3] was to come next`:                            {a},
		`tensor "a" of shape [2] was to come next, not "b"`:                   {b, a},
		`was to come next, not "b" of shape [2]`:                              {a, {"b", []int{2}, a.Data}},
		`tensor "c" comes although none is left`:                              {a, b, {"c", nil, []float32{1}}},
		`tensor "b": value 1 is +Inf`:                                         {a, inf},
		`tensor "b": from 0 on: value 1 is 1e+06, which is too large for F16`: {a, huge},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		_, err := WriteStream(dir, nil, Stream{Form: Form{DType: F16}, Specs: specs, Tensors: all(tensors)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if entries, _ := os.ReadDir(filepath.Dir(dir)); len(entries) > 0 {
			t.Errorf("%s: %s is left", want, entries[0].Name())
		}
	}
}

func all(tensors []Tensor) iter.Seq2[Tensor, error] {
	return func(yield func(Tensor, error) bool) {
		for _, t := range tensors {
			if !yield(t, nil) {
				return
			}
		}
	}
}

func TestStreamFaults(t *testing.T) {
	specs := []Spec{{"a", []int{20_000}}, {"b", []int{20_000}}}
	faults := untilNoFault(t, func(t *testing.T, d *faultyDisk) error {
		dir := filepath.Join(t.TempDir(), "out")
		_, err := writeStream(d, dir, []Text{{"config.json", []byte("{}")}}, streamOf(specs, BF16, 40_000))
		if _, missing := os.Stat(filepath.Join(dir, manifestName)); err == nil && missing != nil {
			t.Error("no error and no folder")
		}
		if _, there := os.Stat(dir); there == nil {
			if root, errRoot := os.OpenRoot(dir); errRoot != nil {
				t.Error(errRoot)
			} else if m, errRead := readManifest(root); errRead != nil || len(m.Files) != 4 {
				t.Errorf("after %v: a folder that is not complete: %v", err, errRead)
			}
		}
		if err != nil {
			return fmt.Errorf("weights: %w", err)
		}
		return nil
	})
	if faults < 30 {
		t.Errorf("only %d faults were met", faults)
	}
}

// TestWriteForPython leaves what scripts/goldens/weights/check.py reads.
func TestWriteForPython(t *testing.T) {
	if *writtenFolder == "" {
		t.Skip("only scripts/goldens/weights/run.sh needs it")
	}
	config, err := os.ReadFile("testdata/golden/sharded/config.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, dtype := range []DType{F64, F32, F16, BF16, E4M3, E5M2} {
		if _, err := WriteStream(filepath.Join(*writtenFolder, string(dtype)), []Text{{"config.json", config}}, streamOf(c.Tensors(), dtype, 3000)); err != nil {
			t.Fatal(err)
		}
	}
}

func readJSON(t *testing.T, path string, out any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, out, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
}
