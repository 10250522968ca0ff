package gguf

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json/v2"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"molt/weights"
)

const golden = "testdata/golden"

// kinds are the models of golden.py.
var kinds = []string{"llama", "llama3", "qwen2", "qwen3", "smollm3", "olmo2", "granite", "phi3", "gemma", "gemma2", "gemma3_text"}

// TestQuantsAreGGMLs compares every widened block with the gguf package, bit for bit.
func TestQuantsAreGGMLs(t *testing.T) {
	f, err := os.Open(filepath.Join(golden, "quants.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct{ Blocks, Values string }
	if err := json.UnmarshalRead(r, &want, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	met := 0
	for kind, b := range blocks {
		if b.widen == nil {
			continue
		}
		src, errSrc := base64.StdEncoding.DecodeString(want[kind.String()].Blocks)
		values, errValues := base64.StdEncoding.DecodeString(want[kind.String()].Values)
		if errSrc != nil || errValues != nil || len(src) == 0 {
			t.Fatalf("%s: no golden values", kind)
		}
		got := make([]float32, len(src)/b.bytes*b.values)
		if err := b.decode(got, src, kind); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if w := binary.LittleEndian.Uint32(values[4*i:]); math.Float32bits(v) != w {
				t.Fatalf("%s: block %d, value %d is %v, ggml's is %v", kind, i/b.values, i%b.values, v, math.Float32frombits(w))
			}
		}
		met++
	}
	if met != len(want) || met != 8 {
		t.Errorf("%d types compared, %d have golden values", met, len(want))
	}
}

// wanted is what transformers held and saved.
type wanted struct {
	Config  map[string]any
	Tensors map[string]string // SHA-256 of little-endian float32
}

// TestTensorsAreTransformers renames and rearranges the tensors of every golden model: they must be those that
// transformers held, bit for bit.
func TestTensorsAreTransformers(t *testing.T) {
	for _, kind := range kinds {
		var want wanted
		readJSON(t, kind+".json", &want)
		f := openGolden(t, kind)
		s := &source{file: f, meta: &f.meta, used: make(map[string]bool)}
		s.prefix = s.meta.text("general.architecture")
		s.family = families[s.prefix]
		if err := s.readConfig(); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		c := weights.ModelConfig{NumAttentionHeads: s.heads, NumKeyValueHeads: s.config["num_key_value_heads"].(int)}
		var specs []weights.Spec
		for name := range want.Tensors {
			stored, err := s.toGGUF(name)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			specs = append(specs, weights.Spec{Name: name, Shape: f.tensors[f.index[stored]].shape})
		}
		if err := s.check(specs); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for tensor, err := range s.tensors(specs, c, nil) {
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			bytes, err := weights.Encode(nil, tensor.Data, weights.F32)
			if err != nil {
				t.Fatal(err)
			}
			if hexSum(bytes) != want.Tensors[tensor.Name] {
				t.Errorf("%s: tensor %s differs from transformers'", kind, tensor.Name)
			}
		}
	}
}

// TestConfigsAreTransformers imports every golden model: its configuration must mean the same as the one that
// transformers saved.
func TestConfigsAreTransformers(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			var want wanted
			readJSON(t, kind+".json", &want)
			text, err := json.Marshal(want.Config)
			if err != nil {
				t.Fatal(err)
			}
			config, err := weights.ParseConfig(text)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "out")
			if _, err := Import(filepath.Join(golden, kind+".gguf"), dir, Options{}); err != nil {
				t.Fatal(err)
			}
			f, err := weights.ReadFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if !reflect.DeepEqual(f.Config, config) {
				t.Errorf("the configuration is\n%+v, from transformers' it is\n%+v", f.Config, config)
			}
		})
	}
}

func openGolden(t *testing.T, kind string) *File {
	t.Helper()
	f, err := Open(filepath.Join(golden, kind+".gguf"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func readJSON(t *testing.T, name string, out any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(golden, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, out, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", name, err))
	}
}

func hexSum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}
