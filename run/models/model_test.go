package models

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write adds a file to a model, which has no manifest afterwards.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "molt-manifest.json")); err != nil {
		t.Fatal(err)
	}
}

// TestExportKeepsSuggestions: what came with a model goes with it.
func TestExportKeepsSuggestions(t *testing.T) {
	dir := tinyModel(t, nil)
	const suggested = `{"temperature": 0.6, "eos_token_id": [1], "odd": true}`
	write(t, dir, "generation_config.json", suggested)
	m, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	if err := m.Export(out, m.Weights, Form{DType: "f32"}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(out, "generation_config.json")); err != nil || string(got) != suggested {
		t.Errorf("%s, %v", got, err)
	}
}

// TestContext: what is said is what the engine takes, which is less than max_position_embeddings for longrope.
func TestContext(t *testing.T) {
	dir := tinyModel(t, func(c *InitConfig) { c.Shape.Architecture = "LlamaForCausalLM" })
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	factors := strings.TrimSuffix(strings.Repeat("1.5,", 8), ",")
	long := `{"rope_scaling": {"rope_type": "longrope", "original_max_position_embeddings": 64, "short_factor": [` + factors + `], "long_factor": [` + factors + `]},`
	write(t, dir, "config.json", string(bytes.Replace(config, []byte("{"), []byte(long), 1)))
	i, err := Describe(dir, "")
	if err != nil {
		t.Skip("longrope wants more of a configuration: ", err)
	}
	if i.Context != 64 || !strings.Contains(i.String(), "64 tokens") {
		t.Errorf("context of %d\n%s", i.Context, i)
	}
}

// TestRelease: fingerprint and description stay when the weights have gone.
func TestRelease(t *testing.T) {
	m, err := Open(tinyModel(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	before, err := m.Describe()
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	after, err := m.Describe()
	if err != nil || after.String() != before.String() {
		t.Errorf("%v: %s\n%s", err, before, after)
	}
	for _, w := range m.Weights.Tensors {
		if w.Data != nil {
			t.Fatalf("%s is still there", w.Name)
		}
	}
}
