// Imports against llama.cpp: the ids of hostile strings, and the likeliest next tokens.

package gguf

import (
	"compress/gzip"
	"encoding/json/v2"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/engine/local"
	"molt/numeric/kernel"
	"molt/numeric/model"
	"molt/tokenizer"
	"molt/weights"
)

var (
	realModel   = flag.String("model", "", "GGUF file for TestRealModel")
	realAnswers = flag.String("answers", "", "llama.cpp's answers about it")
)

// answer is what llama.cpp says about one file.
type answer struct {
	IDs  [][]int32 // of each text
	Next []struct {
		IDs           []int32
		Probabilities []float64
	} // after each prompt, the likeliest first
}

type oracle struct {
	Texts   []string
	Prompts [][]int32
	Answers map[string]answer // by golden model, or "pre:" and a pre-tokenizer
}

func readOracle(t *testing.T) (o oracle) {
	t.Helper()
	f, err := os.Open(filepath.Join(golden, "llamacpp.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.UnmarshalRead(r, &o, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if len(o.Texts) < 200 || len(o.Answers) < 20 {
		t.Fatalf("%d texts, %d answers", len(o.Texts), len(o.Answers))
	}
	return o
}

// TestIDsAreLlamaCpps encodes with the imported tokenizer of every golden model, and of every pre-tokenizer.
func TestIDsAreLlamaCpps(t *testing.T) {
	o := readOracle(t)
	for name, a := range o.Answers {
		kind, pre := name, ""
		if after, ok := strings.CutPrefix(name, "pre:"); ok {
			kind, pre = "llama", after
		}
		f := openGolden(t, kind)
		if pre != "" {
			f.meta.values["tokenizer.ggml.pre"] = pre
		}
		s := &source{file: f, meta: &f.meta, config: map[string]any{"max_position_embeddings": 128}, prefix: f.meta.text("general.architecture")}
		v, err := s.vocabulary(1 << 20)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		v.split.nfc = false // which llama.cpp leaves out
		text, err := s.marshal(v.tokenizer())
		if err != nil {
			t.Fatal(err)
		}
		tok, err := tokenizer.New(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		compareIDs(t, name, tok, o.Texts, a.IDs)
	}
}

func compareIDs(t *testing.T, name string, tok *tokenizer.Tokenizer, texts []string, want [][]int32) {
	t.Helper()
	wrong := 0
	for i, text := range texts {
		if got := tok.EncodeSpecial(text); !slices.Equal(got, want[i]) {
			if wrong++; wrong <= 3 {
				t.Errorf("%s: %q is %v, llama.cpp says %v", name, text, got, want[i])
			}
		}
	}
	if wrong > 3 {
		t.Errorf("%s: %d of %d texts differ", name, wrong, len(texts))
	}
}

// TestNextTokensAreLlamaCpps imports every golden model and computes with it.
func TestNextTokensAreLlamaCpps(t *testing.T) {
	o := readOracle(t)
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			if _, err := Import(filepath.Join(golden, kind+".gguf"), dir, Options{}); err != nil {
				t.Fatal(err)
			}
			compareNext(t, dir, o.Prompts, o.Answers[kind], 5e-4)
		})
	}
}

// compareNext computes the distribution after each prompt. near bounds the difference of probabilities.
func compareNext(t *testing.T, dir string, prompts [][]int32, want answer, near float64) {
	t.Helper()
	f, err := weights.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	shape, err := local.Shape(f.Config)
	if err != nil {
		t.Fatal(err)
	}
	shape.MaxPositions = min(shape.MaxPositions, 128)
	m, err := model.New(shape)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	read := make(map[string][]float32)
	for tensor, err := range f.Tensors() {
		if err != nil {
			t.Fatal(err)
		}
		read[tensor.Name] = tensor.Data
	}
	for _, p := range m.Params() {
		if copy(p.Data, read[p.Name]) != len(p.Data) {
			t.Fatalf("%s is not in the folder", p.Name)
		}
	}
	m.Refresh(nil)
	pool := kernel.NewPool(2)
	defer pool.Close()
	work := model.NewWork(m, pool, model.Budget{Tokens: 128})
	defer work.Free()
	logits := make([]float32, shape.Vocab)
	worst := 0.0
	for i, prompt := range prompts {
		kv, err := model.NewKV(shape, 2)
		if err != nil {
			t.Fatal(err)
		}
		pages := []int32{0, 1}
		m.Logits(work, logits, m.Extend(work, kv, []model.Span{{Seq: &model.Seq{Pages: pages}, Tokens: prompt}}, []bool{true}), 1)
		lse := model.LogSumExp(logits)
		for j, id := range want.Next[i].IDs {
			got := math.Exp(float64(logits[id]) - float64(lse))
			worst = max(worst, math.Abs(got-want.Next[i].Probabilities[j]))
		}
		kv.Free()
	}
	if t.Logf("probabilities differ by at most %.1e", worst); worst > near {
		t.Errorf("a probability differs from llama.cpp's by %v", worst)
	}
}

// TestRealModel imports a model of a user's choice; see scripts/goldens/gguf/llamacpp.sh.
func TestRealModel(t *testing.T) {
	if *realModel == "" {
		t.Skip("only scripts/goldens/gguf/llamacpp.sh needs it")
	}
	file, err := os.Open(*realAnswers)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var o struct {
		Texts   []string
		Prompts [][]int32
		answer
	}
	data, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &o, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	sum, err := Import(*realModel, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", sum)
	text, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	if tok, err := tokenizer.New(text); err != nil {
		t.Error(err)
	} else {
		compareIDs(t, sum.Name, tok, o.Texts, o.IDs)
	}
	compareNext(t, dir, o.Prompts, o.answer, 5e-3) // llama.cpp keeps keys and values in 16 bits
}
