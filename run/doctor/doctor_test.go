package doctor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/agent/sandbox"
	"molt/engine"
	"molt/engine/local"
	"molt/numeric/kernel"
	"molt/run/models"
)

// tinyModel is a model that says nothing sensible, as molt model init makes it.
func tinyModel(t *testing.T) string {
	t.Helper()
	c := models.InitConfig{
		Out: filepath.Join(t.TempDir(), "model"), Shape: models.TinyShape(), Seed: 1, VocabSize: 320,
		Texts: slices.Values([]string{"the cat and the dog and the bird", "the sand and the land"}),
	}
	c.Shape.HiddenSize, c.Shape.IntermediateSize, c.Shape.NumHiddenLayers = 32, 64, 1
	c.Shape.NumAttentionHeads, c.Shape.NumKeyValueHeads, c.Shape.HeadDim, c.Shape.MaxPositionEmbeddings = 2, 1, 16, 256
	if err := models.Init(c); err != nil {
		t.Fatal(err)
	}
	return c.Out
}

// edit replaces a text in a file of a model, which has no manifest afterwards. A file that is not there begins empty.
func edit(t *testing.T, dir, name, old, now string) {
	t.Helper()
	at := filepath.Join(dir, name)
	data, err := os.ReadFile(at)
	if err != nil && old != "" || !bytes.Contains(data, []byte(old)) {
		t.Fatalf("%s does not hold %q (%v)", name, old, err)
	}
	if old != "" {
		now = strings.Replace(string(data), old, now, 1)
	}
	write(t, at, now)
	if err := os.RemoveAll(filepath.Join(dir, manifestName)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, at, text string) {
	t.Helper()
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) {
	sandbox.Child()
	os.Exit(m.Run())
}

func TestASoundModel(t *testing.T) {
	r := Examine(context.Background(), tinyModel(t), 1)
	if r.Problems() != 0 {
		t.Errorf("%s", r)
	}
	for _, want := range []string{
		"they match the checksums in molt-manifest.json", "rows of the embedding for", "spells every byte", "come back from the tokenizer as they were",
		"control tokens are in the vocabulary", "turns end with <|im_end|>", "these extend what the model saw", "come back whole", "stored as F32", "256 tokens",
		"generator and learner agree bit for bit on", "no problems",
	} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("nothing says %q in\n%s", want, r)
		}
	}
	for _, f := range r.Findings {
		if f.Check == "" || f.Says == "" || f.State == Problem && f.Fix == "" {
			t.Errorf("%+v", f)
		}
	}
}

// plainTurns is a template without tools.
const plainTurns = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

// TestFindings breaks a sound model in one place at a time.
func TestFindings(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string)
		state State
		check string
		says  string
	}{
		{"a folder that is not there", func(t *testing.T, dir string) { _ = os.RemoveAll(dir) }, Problem, "files", "there is no such model"},
		{"a changed weight", func(t *testing.T, dir string) {
			at := filepath.Join(dir, "model.safetensors")
			data, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)-1] ^= 1
			write(t, at, string(data))
		}, Problem, "files", "does not match its checksum in molt-manifest.json"},
		{"nothing vouches for the files", func(t *testing.T, dir string) { edit(t, dir, "config.json", "", "") }, Problem, "files", "config.json"},
		{"no manifest", func(t *testing.T, dir string) { edit(t, dir, "generation_config.json", "", "{}") }, Note, "files", "there are no checksums to compare with"},
		{"a card with a licence", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "README.md"), "---\ntags: [x]\nlicense: \"apache-2.0\"\n---\n# Card\n")
		}, OK, "licence", "apache-2.0, says README.md"},
		{"a licence in the text of the card", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "README.md"), "# Card\nlicense: mit\n") }, Note, "licence", "nothing in the folder names one"},
		{"a file with a licence", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "LICENSE"), "\n  MIT License\n\nCopyright\n")
		}, OK, "licence", "LICENSE: MIT License"},
		{"a byte that is no token", func(t *testing.T, dir string) { edit(t, dir, "tokenizer.json", `"Ą":`, `"qqqq":`) }, Note, "bytes", "cannot spell 1 of the bytes of UTF-8, such as 0x04"},
		{"a tokenizer that composes accents", func(t *testing.T, dir string) {
			edit(t, dir, "tokenizer.json", `"normalizer":null`, `"normalizer":{"type":"NFC"}`)
		}, Note, "round trip", "decomposed accents"},
		{"a tokenizer that drops capitals", func(t *testing.T, dir string) {
			edit(t, dir, "tokenizer.json", `"normalizer":null`, `"normalizer":{"type":"Lowercase"}`)
		}, Problem, "round trip", `comes back from the tokenizer as "the quick`},
		{"no template", func(t *testing.T, dir string) {
			edit(t, dir, "generation_config.json", "", "{}")
			_ = os.Remove(filepath.Join(dir, "chat_template.jinja"))
		}, Note, "chat template", "the model completes text"},
		{"a control token that is none", func(t *testing.T, dir string) {
			edit(t, dir, "chat_template.jinja", "", "<|begin|>"+plainTurns)
		}, Problem, "template", "it writes <|begin|>, which is no control token of the tokenizer: the model would read"},
		{"one that is hardly ever written", func(t *testing.T, dir string) {
			edit(t, dir, "chat_template.jinja", "", "{% if messages|length > 9 %}<|begin|>{% endif %}"+plainTurns)
		}, Note, "template", "it names <|begin|>"},
		{"a token of the configuration that is none", func(t *testing.T, dir string) {
			edit(t, dir, "chat_template.jinja", "", "{{ bos_token }}"+plainTurns)
			write(t, filepath.Join(dir, "tokenizer_config.json"), `{"bos_token": {"content": "<first>"}}`)
		}, Problem, "files", `token "<first>" would get the id`},
		{"turns without an end", func(t *testing.T, dir string) {
			edit(t, dir, "chat_template.jinja", "", "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}")
		}, Problem, "end of turn", "ends no turn with a control token"},
		{"an end that is not listed", func(t *testing.T, dir string) {
			edit(t, dir, "chat_template.jinja", "", strings.ReplaceAll(plainTurns, "<|im_end|>", "<|endoftext|>"))
		}, Note, "end of turn", "which generation_config.json does not list"},
		{"turns that are shown differently later", func(t *testing.T, dir string) {
			edit(t, dir, "chat_template.jinja", "", strings.Replace(plainTurns, "{{ m.content }}", "{{ m.content if loop.last or m.role != 'assistant' else 'gone' }}", 1))
		}, Note, "turns", `"answer, question": the template shows earlier turns differently afterwards`},
		{"turns that are refused", func(t *testing.T, dir string) {
			edit(t, dir, "chat_template.jinja", "", "{% for m in messages if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endfor %}"+plainTurns)
		}, Note, "turns", `"call, result": the template refuses such turns`},
		{"no tools", func(t *testing.T, dir string) { edit(t, dir, "chat_template.jinja", "", plainTurns) }, Note, "replies", "the template shows no tools to the model"},
		{"calls that nobody reads", func(t *testing.T, dir string) {
			edit(t, dir, "chat_template.jinja", `{"name": ' + call`, `{"nom": ' + call`)
		}, Problem, "replies", "does not understand turns that the template itself writes"},
		{"suggestions", func(t *testing.T, dir string) {
			edit(t, dir, "generation_config.json", "", `{"temperature": 0.6, "top_p": 0.95}`)
		}, Note, "sampling", "suggests --temperature 0.6 --top-p 0.95; it is never applied"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := tinyModel(t)
			test.spoil(t, dir)
			r := Examine(context.Background(), dir, 1)
			if !slices.ContainsFunc(r.Findings, func(f Finding) bool {
				return f.State == test.state && f.Check == test.check && strings.Contains(f.Says, test.says)
			}) {
				t.Errorf("want %s, %s: …%s… in\n%s", test.state, test.check, test.says, r)
			}
			if (r.Problems() > 0) != (test.state == Problem) {
				t.Errorf("%d problems in\n%s", r.Problems(), r)
			}
		})
	}
}

// TestCache names the files of a model by their sums, as the hub's cache does.
func TestCache(t *testing.T) {
	model, root := tinyModel(t), t.TempDir()
	snapshot := filepath.Join(root, "snapshots", "main")
	for _, dir := range []string{snapshot, filepath.Join(root, "blobs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var blob string
	for _, name := range []string{"config.json", "tokenizer.json", "chat_template.jinja", "model.safetensors"} {
		data, err := os.ReadFile(filepath.Join(model, name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		blob = filepath.Join(root, "blobs", hex.EncodeToString(sum[:]))
		write(t, blob, string(data))
		if err := os.Symlink("../../blobs/"+filepath.Base(blob), filepath.Join(snapshot, name)); err != nil {
			t.Skip(err)
		}
	}
	if f := checksums(snapshot); f[0].State != OK || f[0].Says != "4 files match their checksums in the cache" {
		t.Errorf("%+v", f)
	}
	data, err := os.ReadFile(blob)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-2] ^= 1
	write(t, blob, string(data))
	if f := Examine(context.Background(), snapshot, 1); f.Problems() != 1 || !strings.Contains(f.String(), "model.safetensors does not match its checksum in the cache") {
		t.Errorf("%s", f)
	}
}

func TestIdsWithoutRowsOrTokens(t *testing.T) {
	m, err := models.Open(tinyModel(t))
	if err != nil {
		t.Fatal(err)
	}
	m.Config.VocabSize, m.EOS = 100, []int32{0, 5000}
	found := vocabulary(m)
	if len(found) != 2 || !strings.Contains(found[0].Says, "and the embedding has 100 rows") || !strings.Contains(found[1].Says, "text ends with id 5000") {
		t.Errorf("%+v", found)
	}
}

func TestMemory(t *testing.T) {
	plan := models.MemoryPlan{MaxLen: 2048}
	for _, test := range []struct {
		need, have int64
		state      State
	}{{1 << 30, 2 << 30, OK}, {2 << 30, 2 << 30, OK}, {3 << 30, 2 << 30, Note}, {1 << 30, 0, Note}} {
		if f := fits("to train", plan, test.need, test.have); f.State != test.state {
			t.Errorf("%d of %d: %+v", test.need, test.have, f)
		}
	}
}

// TestAnotherLearner has one bit of one log-prob differ.
func TestAnotherLearner(t *testing.T) {
	m, err := models.Open(tinyModel(t))
	if err != nil {
		t.Fatal(err)
	}
	config := models.Engine(1, 1, 0, 0, m.Shape)
	g, err := local.NewGenerator(m.Shape, m.Weights, config)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	l, err := local.NewLearner(m.Shape, m.Weights, config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if f := compare(context.Background(), m, g, l); f.State != OK {
		t.Errorf("%+v", f)
	}
	if f := compare(context.Background(), m, g, off{l}); f.State != Problem || !strings.HasPrefix(f.Says, "of sampled token 0, the generator reports") {
		t.Errorf("%+v", f)
	}
}

// off is a learner that errs by very little.
type off struct{ engine.Learner }

func (o off) Forward(ctx context.Context, b engine.Batch, w engine.Want) (engine.Pass, error) {
	p, err := o.Learner.Forward(ctx, b, w)
	return offPass{p}, err
}

type offPass struct{ engine.Pass }

func (p offPass) Logp() []float32 {
	logp := slices.Clone(p.Pass.Logp())
	logp[0] *= 1 + 1e-7
	return logp
}

func TestMachine(t *testing.T) {
	defer kernel.SetPath(kernel.PathPlain)()
	t.Setenv("PATH", "")
	var text strings.Builder
	for _, f := range Machine(context.Background(), 1) {
		if f.State == Problem {
			t.Errorf("%+v", f)
		}
		text.WriteString(string(f.State) + " " + f.Says + "\n")
	}
	for _, want := range []string{"note plain Go", "note bubblewrap is not installed", "ok limits work, on time, memory and file sizes alone", "ok Starlark works"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("nothing says %q in\n%s", want, text.String())
		}
	}
}
