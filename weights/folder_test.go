package weights

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const tokenizerJSON = `{"model":{"type":"BPE","vocab":{"a":0,"b":98},"merges":[]},"added_tokens":[{"id":99,"content":"<|end|>"}]}`

// model is a small random Qwen3.
func model(t testing.TB) Model {
	t.Helper()
	c, err := ParseConfig([]byte(qwenJSON))
	if err != nil {
		t.Fatal(err)
	}
	m := Model{Config: c, EOS: []int32{4, 5}, Step: 17}
	m.Tokenizer, m.TokenizerConfig, m.ChatTemplate = []byte(tokenizerJSON), []byte(`{"x":1}`), []byte("{{ messages }}")
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range c.Tensors() {
		n := 1
		for _, d := range s.Shape {
			n *= d
		}
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(r.NormFloat64())
		}
		m.Tensors = append(m.Tensors, Tensor{s.Name, s.Shape, data})
	}
	return m
}

func written(t testing.TB, m Model) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	if _, err := WriteFolder(dir, m); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFolderRoundTrip(t *testing.T) {
	m := model(t)
	dir := filepath.Join(t.TempDir(), "model")
	manifest, err := WriteFolder(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	f, err := ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if string(f.Generation) != `{"bos_token_id":3,"eos_token_id":[4,5]}` {
		t.Errorf("generation_config.json is %s", f.Generation)
	}
	m.Generation = []byte(`{"eos_token_id":[4,6],"temperature":0.6}`)
	again, err := ReadFolder(written(t, m))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if !slices.Equal(again.EOS, []int32{4, 6}) || string(again.Generation) != string(m.Generation) {
		t.Errorf("generation_config.json came back as %s, and ends with %d", again.Generation, again.EOS)
	}
	if show(f.Config) != show(m.Config) || !slices.Equal(f.EOS, []int32{4, 5}) || string(f.Tokenizer) != tokenizerJSON ||
		string(f.TokenizerConfig) != `{"x":1}` || string(f.ChatTemplate) != "{{ messages }}" || f.Manifest.Step != 17 {
		t.Errorf("got %+v", f)
	}
	var tensors []Tensor
	for tensor, err := range f.Tensors() {
		if err != nil {
			t.Fatal(err)
		}
		tensors = append(tensors, tensor)
	}
	if got := Fingerprint(tensors); got != Fingerprint(m.Tensors) || got != manifest.Fingerprint || got != f.Manifest.Fingerprint {
		t.Error("the weights or the fingerprint changed on the way")
	}
	if entries, _ := os.ReadDir(filepath.Dir(dir)); len(entries) != 1 {
		t.Errorf("leftovers beside the folder: %v", entries)
	}
}

// TestStories reads a real checkpoint made by other software.
func TestStories(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "models", "stories260K")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("%s is absent", dir)
	}
	f, err := ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	count := 0
	for tensor, err := range f.Tensors() {
		if err != nil {
			t.Fatal(err)
		}
		count += len(tensor.Data)
	}
	if count != 260_032 || f.Config.NumHiddenLayers != 5 || !f.Config.TieWordEmbeddings || !slices.Equal(f.EOS, []int32{2}) {
		t.Errorf("%d parameters, %+v", count, f.Config)
	}
}

func TestFolderRefusals(t *testing.T) {
	cases := []struct {
		name  string
		spoil func(t *testing.T, dir string, m Model)
		want  string
	}{
		{"no config", func(t *testing.T, dir string, m Model) { remove(t, dir, "config.json") }, "config.json: missing, although molt-manifest.json lists it"},
		{"no config, no manifest", func(t *testing.T, dir string, m Model) { remove(t, dir, "config.json", manifestName) }, "config.json is missing; this is not a Hugging Face model folder"},
		{"no weights", func(t *testing.T, dir string, m Model) { remove(t, dir, singleName) }, "model.safetensors is missing"},
		{"config changed", func(t *testing.T, dir string, m Model) { put(t, filepath.Join(dir, "config.json"), []byte(qwenJSON)) }, "config.json: has"},
		{"manifest damaged", func(t *testing.T, dir string, m Model) { put(t, filepath.Join(dir, manifestName), []byte("{}")) }, "molt-manifest.json: "},
		{"config without manifest", func(t *testing.T, dir string, m Model) {
			remove(t, dir, manifestName)
			put(t, filepath.Join(dir, "config.json"), []byte(edit(qwenJSON, "hidden_size", "32")))
		}, `tensor "model.embed_tokens.weight": has shape [100 24] but config.json calls for [100 32]`},
		{"tensor missing", func(t *testing.T, dir string, m Model) {
			rewriteWeights(t, dir, m.Tensors[1:])
		}, `model.safetensors: tensor "model.embed_tokens.weight" is missing, which config.json calls for`},
		{"tensor too many", func(t *testing.T, dir string, m Model) {
			rewriteWeights(t, dir, append(m.Tensors, Tensor{"model.extra", nil, []float32{1}}))
		}, `model.safetensors: tensor "model.extra" is not part of a Qwen3ForCausalLM`},
		{"tokenizer too large", func(t *testing.T, dir string, m Model) {
			remove(t, dir, manifestName)
			put(t, filepath.Join(dir, "tokenizer.json"), []byte(strings.Replace(tokenizerJSON, "99", "100", 1)))
		}, `tokenizer.json: token "<|end|>" has id 100 but the embedding has only 100 rows`},
		{"tokenizer vocabulary too large", func(t *testing.T, dir string, m Model) {
			remove(t, dir, manifestName)
			put(t, filepath.Join(dir, "tokenizer.json"), []byte(strings.Replace(tokenizerJSON, `"b":98`, `"b":100`, 1)))
		}, `tokenizer.json: token "b" has id 100`},
		{"tokenizer empty", func(t *testing.T, dir string, m Model) {
			remove(t, dir, manifestName)
			put(t, filepath.Join(dir, "tokenizer.json"), []byte(`{}`))
		}, "tokenizer.json: model.vocab: missing"},
		{"end of text outside", func(t *testing.T, dir string, m Model) {
			remove(t, dir, manifestName)
			put(t, filepath.Join(dir, "generation_config.json"), []byte(`{"eos_token_id":[100]}`))
		}, "generation_config.json: eos_token_id: 100 is outside the vocabulary of 100"},
		{"index and single", func(t *testing.T, dir string, m Model) {
			put(t, filepath.Join(dir, indexName), []byte(`{"weight_map":{"x":"a.safetensors"}}`))
		}, "both exist"},
		{"folder as file", func(t *testing.T, dir string, m Model) {
			remove(t, dir, singleName)
			if err := os.Mkdir(filepath.Join(dir, singleName), 0o777); err != nil {
				t.Fatal(err)
			}
		}, "model.safetensors: is not a regular file"},
		{"link out of the folder", func(t *testing.T, dir string, m Model) {
			secret := filepath.Join(t.TempDir(), "secret")
			if err := os.Rename(filepath.Join(dir, singleName), secret); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(secret, filepath.Join(dir, singleName)); err != nil {
				t.Skip(err)
			}
		}, "links out of the folder are not followed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := model(t)
			dir := written(t, m)
			c.spoil(t, dir, m)
			f, err := ReadFolder(dir)
			if err == nil {
				f.Close()
				t.Fatal("was accepted")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "weights: read "+dir+": ") {
				t.Errorf("got %v\nwant a sentence with %q", err, c.want)
			}
		})
	}
	if _, err := ReadFolder(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
}

// TestPoisonedWeights: the first value that is no number is named with its tensor.
func TestPoisonedWeights(t *testing.T) {
	m := model(t)
	dir := written(t, m)
	remove(t, dir, manifestName)
	path := filepath.Join(dir, singleName)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := len(file) - 4*7 // the 7th value from the end belongs to lm_head.weight [100 24]
	copy(file[last:], []byte{0, 0, 0x80, 0xFF})
	put(t, path, file)
	f, err := ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, err = range f.Tensors() {
	}
	if want := `model.safetensors: tensor "lm_head.weight": value 2393 is -Inf`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestTiedHead(t *testing.T) {
	m := model(t)
	m.Config.TieWordEmbeddings = true
	head := m.Tensors[len(m.Tensors)-1]
	m.Tensors = m.Tensors[:len(m.Tensors)-1]
	dir := written(t, m)
	rewriteWeights(t, dir, append(slices.Clone(m.Tensors), head))
	if _, err := ReadFolder(dir); err == nil || !strings.Contains(err.Error(), "differs from the embedding although config.json has tie_word_embeddings true") {
		t.Errorf("got %v", err)
	}
	rewriteWeights(t, dir, append(slices.Clone(m.Tensors), Tensor{headName, m.Tensors[0].Shape, m.Tensors[0].Data}))
	f, err := ReadFolder(dir)
	if err != nil {
		t.Fatalf("a stored copy of the embedding was refused: %v", err)
	}
	f.Close()
}

func TestShards(t *testing.T) {
	m := model(t)
	half := len(m.Tensors) / 2
	names := func(file string, tensors []Tensor) (entries []string) {
		for _, t := range tensors {
			entries = append(entries, fmt.Sprintf("%q:%q", t.Name, file))
		}
		return entries
	}
	index := func(entries ...string) string {
		return `{"metadata":{"total_size":1},"weight_map":{` + strings.Join(entries, ",") + `}}`
	}
	good := append(names("a.safetensors", m.Tensors[:half]), names("b.safetensors", m.Tensors[half:])...)
	long := strings.Repeat("x", 300) + ".safetensors"
	for _, c := range []struct{ name, index, want string }{
		{"good", index(good...), ""},
		{"dots", index(`"x":"../b.safetensors"`), "must be the plain name of a file"},
		{"absolute", index(`"x":"/etc/passwd"`), "must be the plain name of a file"},
		{"below", index(`"x":"sub/b.safetensors"`), "must be the plain name of a file"},
		{"backslash", index(`"x":"..\\b.safetensors"`), "must be the plain name of a file"},
		{"NUL", index(`"x":"b\u0000.safetensors"`), "must be the plain name of a file"},
		{"hidden", index(`"x":".."`), "must be the plain name of a file"},
		{"long", index(`"x":"` + long + `"`), "name of 312 bytes"},
		{"other kind", index(`"x":"config.json"`), "must end in .safetensors"},
		{"missing file", index(append(good, `"x":"c.safetensors"`)...), "c.safetensors: no such file"},
		{"wrong place", index(append(good, `"x":"b.safetensors"`)...), `places tensor "x" in b.safetensors, which does not hold it`},
		{"not placed", index(good[1:]...), `a.safetensors: holds tensor "model.embed_tokens.weight"`},
		{"twice", index(append(good, good[0])...), "duplicate"},
		{"link out", index(append(good, `"x":"link.safetensors"`)...), "links out of the folder are not followed"},
		{"empty", `{"weight_map":{}}`, "weight_map: missing or empty"},
		{"unknown field", `{"weight_map":{"x":"b.safetensors"},"y":1}`, "unknown object member"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := written(t, m)
			remove(t, dir, manifestName, singleName)
			for file, tensors := range map[string][]Tensor{"a.safetensors": m.Tensors[:half], "b.safetensors": m.Tensors[half:]} {
				if _, err := writeOne(filepath.Join(dir, file), tensors); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.safetensors")); err != nil {
				t.Skip(err)
			}
			put(t, filepath.Join(dir, indexName), []byte(c.index))
			f, err := ReadFolder(dir)
			if err == nil {
				defer f.Close()
				for _, tensorErr := range f.Tensors() {
					err = tensorErr
				}
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestTexts: every small file comes back as it was, also without the weights, and must be the one that was written.
func TestTexts(t *testing.T) {
	m := model(t)
	m.Texts = Texts{
		Tokenizer: []byte(tokenizerJSON), TokenizerConfig: []byte(`{"chat_template": "one"}`), SpecialTokens: []byte(`{"eos_token": "b"}`),
		AddedTokens: []byte("{}"), Generation: []byte(`{"eos_token_id": 4}`), ChatTemplate: []byte(""), Templates: []Text{{"rag.jinja", []byte("two")}, {"tool_use.jinja", []byte("three")}},
	}
	dir := written(t, m)
	f, err := ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	alone, err := ReadTexts(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []Texts{f.Texts, alone} {
		if !reflect.DeepEqual(got, m.Texts) {
			t.Errorf("got %q\nwant %q", got, m.Texts)
		}
	}
	tool := filepath.Join(dir, templatesName, "tool_use.jinja")
	put(t, tool, []byte("other"))
	if _, err := ReadTexts(dir); err == nil || !strings.Contains(err.Error(), "additional_chat_templates/tool_use.jinja: does not match its checksum") {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(filepath.Join(dir, manifestName)); err != nil {
		t.Fatal(err)
	}
	for i := range maxTemplates {
		put(t, filepath.Join(dir, templatesName, fmt.Sprint(i, ".jinja")), []byte("x"))
	}
	if _, err := ReadTexts(dir); err == nil || !strings.Contains(err.Error(), "additional_chat_templates: more than 16 chat templates") {
		t.Errorf("got %v", err)
	}
}

// TestFlippedBits: no single flipped bit in a folder of ours goes unnoticed.
func TestFlippedBits(t *testing.T) {
	dir := written(t, model(t))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			i, bit := r.IntN(len(data)), byte(1)<<r.IntN(8)
			data[i] ^= bit
			put(t, path, data)
			if f, err := ReadFolder(dir); err == nil {
				f.Close()
				t.Errorf("%s: bit %#x of byte %d flipped and nobody noticed", e.Name(), bit, i)
			}
			data[i] ^= bit
		}
		put(t, path, data)
	}
}

func TestWriteFolderRefusals(t *testing.T) {
	busy := t.TempDir()
	put(t, filepath.Join(busy, "mine.txt"), nil)
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, nil)
	for _, c := range []struct {
		name, dir string
		spoil     func(*Model)
		want      string
	}{
		{"not empty", busy, func(*Model) {}, "the folder is not empty (it holds mine.txt); choose another one or empty it"},
		{"a file", file, func(*Model) {}, "not a directory"},
		{"below a file", filepath.Join(file, "model"), func(*Model) {}, "not a directory"},
		{"no parent", filepath.Join(busy, "none", "model"), func(*Model) {}, "no such file"},
		{"tensor missing", "", func(m *Model) { m.Tensors = m.Tensors[1:] }, `tensor "model.embed_tokens.weight" is missing`},
		{"tensor twice", "", func(m *Model) { m.Tensors = append(m.Tensors, m.Tensors[0]) }, `tensor "model.embed_tokens.weight": `},
		{"tensor too many", "", func(m *Model) { m.Tensors = append(m.Tensors, Tensor{"x", nil, []float32{1}}) }, `tensor "x" is not part`},
		{"NaN", "", func(m *Model) { m.Tensors[3].Data[5] -= float32(inf()) }, `value 5 is -Inf`},
		{"configuration", "", func(m *Model) { m.Config.HeadDim = 3 }, "head_dim: 3 must be even"},
		{"tokenizer", "", func(m *Model) { m.Tokenizer = []byte(`{"model":{"vocab":{"x":100}}}`) }, `token "x" has id 100`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := model(t)
			c.spoil(&m)
			parent := t.TempDir()
			dir := c.dir
			if dir == "" {
				dir = filepath.Join(parent, "model")
			}
			if _, err := WriteFolder(dir, m); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "weights: write "+dir) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if entries, _ := os.ReadDir(parent); len(entries) > 0 {
				t.Errorf("something was left behind: %v", entries)
			}
		})
	}
	empty := t.TempDir()
	if _, err := WriteFolder(empty, model(t)); err != nil {
		t.Errorf("an empty folder was refused: %v", err)
	}
}

func inf() float64 { x := 1e308; return x * 10 }

func remove(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// rewriteWeights replaces the weights as another program would: without a manifest.
func rewriteWeights(t testing.TB, dir string, tensors []Tensor) {
	t.Helper()
	_ = os.Remove(filepath.Join(dir, manifestName))
	if _, err := writeOne(filepath.Join(dir, singleName), tensors); err != nil {
		t.Fatal(err)
	}
}

// FuzzIndex: whatever an index says, no file outside the folder is named.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"metadata":{"total_size":1},"weight_map":{"x":"a.safetensors","y":"b.safetensors"}}`))
	f.Add([]byte(`{"weight_map":{"x":"../a.safetensors"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		shards, err := parseIndex(data)
		if err != nil {
			return
		}
		for _, s := range shards {
			if filepath.Base(s.file) != s.file || !filepath.IsLocal(s.file) || len(s.tensors) == 0 {
				t.Errorf("shard %q with %d tensors", s.file, len(s.tensors))
			}
		}
	})
}

// TestLoad: all at once or one after the other, the tensors are the same, and so is their fingerprint.
func TestLoad(t *testing.T) {
	m := model(t)
	dir := filepath.Join(t.TempDir(), "model")
	if _, err := WriteFolder(dir, m); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, fingerprint, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for one, err := range f.Tensors() {
		if err != nil || one.Name != all[i].Name || !slices.Equal(one.Shape, all[i].Shape) || !slices.Equal(one.Data, all[i].Data) {
			t.Errorf("tensor %d: %s and %s, %v", i, one.Name, all[i].Name, err)
		}
		i++
	}
	if i != len(all) || fingerprint != f.Manifest.Fingerprint || fingerprint != Fingerprint(all) {
		t.Errorf("%d tensors of %d; fingerprints %s, %s, %s", len(all), i, fingerprint, f.Manifest.Fingerprint, Fingerprint(all))
	}
	if got := f.DTypes(); !slices.Equal(got, []DType{F32}) {
		t.Errorf("stored as %v", got)
	}
}
