package weights

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// twoLayers are the tensors of a model of two layers.
var twoLayers = ModelConfig{Architecture: Llama, HiddenSize: 16, IntermediateSize: 8, NumHiddenLayers: 2, NumAttentionHeads: 2,
	NumKeyValueHeads: 1, HeadDim: 4, VocabSize: 10, MaxPositionEmbeddings: 8, RMSNormEps: 1e-5, RopeTheta: 100}.Tensors()

// adapterOn has the factors of the chosen matrices, all different.
func adapterOn(t testing.TB, modules ...string) Adapter {
	a := Adapter{Rank: 2, Alpha: 4, Base: "base", Model: "models/tiny"}
	names, err := Targets(twoLayers, modules)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range slices.Sorted(slices.Values(names)) {
		at := slices.IndexFunc(twoLayers, func(s Spec) bool { return s.Name == name+".weight" })
		out, in := twoLayers[at].Shape[0], twoLayers[at].Shape[1]
		a.Tensors = append(a.Tensors,
			Tensor{name + factorA, []int{2, in}, counted(2*in, float32(i))}, Tensor{name + factorB, []int{out, 2}, counted(out*2, float32(-i))})
	}
	return a
}

func counted(n int, from float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = from + float32(i)/8
	}
	return x
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		modules []string
		want    int
		wrong   string
	}{
		{[]string{"q_proj"}, 2, ""},
		{[]string{"q_proj", "v_proj"}, 4, ""},
		{[]string{"all-linear"}, 14, ""},
		{[]string{"layers.1.mlp.up_proj"}, 1, ""},
		{[]string{"model.layers.0.self_attn.o_proj", "o_proj"}, 2, ""},
		{[]string{"proj"}, 0, `"proj" is no projection`},
		{[]string{"q_proj", "lm_head"}, 0, `"lm_head" is no projection`},
		{[]string{"embed_tokens"}, 0, `"embed_tokens" is no projection`},
		{nil, 0, "no projection is named"},
	} {
		got, err := Targets(twoLayers, c.modules)
		if len(got) != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%q: %q, %v; want %d, %q", c.modules, got, err, c.want, c.wrong)
		}
	}
}

func TestAdapterFolders(t *testing.T) {
	for _, modules := range [][]string{{"q_proj"}, {"all-linear"}, {"k_proj", "layers.1.mlp.down_proj"}} {
		dir := filepath.Join(t.TempDir(), "adapter")
		a := adapterOn(t, modules...)
		a.RSLoRA, a.Step = true, 7
		if _, err := WriteAdapter(dir, a, twoLayers); err != nil {
			t.Fatal(err)
		}
		got, err := ReadAdapter(dir, twoLayers)
		if err != nil {
			t.Fatal(err)
		}
		if got.Fingerprint("base") != a.Fingerprint("base") || got.Base != "base" || got.Model != "models/tiny" || got.Step != 7 || !got.RSLoRA {
			t.Errorf("%q came back as %+v", modules, got)
		}
	}
	dir := filepath.Join(t.TempDir(), "adapter")
	if _, err := WriteAdapter(dir, adapterOn(t, "q_proj"), twoLayers[:3]); err == nil || exists(dir) {
		t.Errorf("an adapter of another model was written: %v", err)
	}
	for _, alpha := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		a := adapterOn(t, "q_proj")
		a.Alpha = alpha
		if _, err := WriteAdapter(dir, a, twoLayers); err == nil || exists(dir) {
			t.Errorf("alpha %v was written: %v", alpha, err)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// TestFingerprintsOfAdapters differ by everything that changes what is computed.
func TestFingerprintsOfAdapters(t *testing.T) {
	seen := map[string]string{}
	for what, change := range map[string]func(*Adapter) string{
		"itself":      func(*Adapter) string { return "base" },
		"the base":    func(*Adapter) string { return "other" },
		"the scale":   func(a *Adapter) string { a.Alpha = 5; return "base" },
		"the root":    func(a *Adapter) string { a.RSLoRA = true; return "base" },
		"one number":  func(a *Adapter) string { a.Tensors[3].Data[1]++; return "base" },
		"a name":      func(a *Adapter) string { a.Tensors[0].Name = "else"; return "base" },
		"one missing": func(a *Adapter) string { a.Tensors = a.Tensors[2:]; return "base" },
	} {
		a := adapterOn(t, "q_proj")
		print := a.Fingerprint(change(&a))
		if other, same := seen[print]; same {
			t.Errorf("%s has the fingerprint of %s", what, other)
		}
		seen[print] = what
	}
}

// config is an adapter_config.json with more fields.
func config(fields string) string {
	return `{"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]` + fields + `}`
}

// TestAdapterConfig goes through the fields that PEFT 0.21 writes: what changes the mathematics is honoured or refused.
func TestAdapterConfig(t *testing.T) {
	for _, text := range []string{
		config(``),
		config(`, "bias": "none", "lora_dropout": 0.1, "inference_mode": true, "revision": "main", "peft_version": "0.21.2"`),
		config(`, "use_dora": false, "modules_to_save": null, "rank_pattern": {}, "alpha_pattern": { }, "loftq_config": {}, "layers_to_transform": []`),
		config(`, "megatron_core": "megatron.core", "qalora_group_size": 16, "auto_mapping": {"base_model_class": "LlamaForCausalLM"}`),
		config(`, "init_lora_weights": "gaussian", "fan_in_fan_out": false, "something_new": null`),
		config(`, "init_lora_weights": true, "base_model_name_or_path": "tiny"`),
	} {
		a, chosen, err := parseAdapterConfig([]byte(text), twoLayers)
		if err != nil || a.Rank != 2 || a.Alpha != 4 || len(chosen) != 2 {
			t.Errorf("%s: %+v, %q, %v", text, a, chosen, err)
		}
	}
	for want, fields := range map[string]string{
		"use_dora: scales columns":             `, "use_dora": true`,
		"bias: \"all\"":                        `, "bias": "all"`,
		"modules_to_save: replaces":            `, "modules_to_save": ["lm_head"]`,
		"rank_pattern: gives":                  `, "rank_pattern": {"q_proj": 8}`,
		"alpha_pattern: gives":                 `, "alpha_pattern": {"q_proj": 8}`,
		"layers_to_transform: adapts":          `, "layers_to_transform": [0]`,
		"fan_in_fan_out: stores":               `, "fan_in_fan_out": true`,
		"exclude_modules: takes":               `, "exclude_modules": ["k_proj"]`,
		"lora_bias: adds":                      `, "lora_bias": true`,
		"use_qalora: groups":                   `, "use_qalora": true`,
		"layer_replication: repeats":           `, "layer_replication": [[0, 1]]`,
		"trainable_token_indices: replaces":    `, "trainable_token_indices": [1]`,
		"target_parameters: adapts":            `, "target_parameters": ["x"]`,
		"alora_invocation_tokens: switches":    `, "alora_invocation_tokens": [1]`,
		`"loftq_config": is set and not known`: `, "loftq_config": {"loftq_bits": 4}`,
		`"kasa_config": is set and not known`:  `, "kasa_config": {"beta": 1}`,
		`"use_bdlora": is set and not known`:   `, "use_bdlora": {"n": 2}`,
		`"tomorrow": is set and not known`:     `, "tomorrow": 1`,
		"init_lora_weights: \"pissa\" changes": `, "init_lora_weights": "pissa"`,
		"init_lora_weights: \"olora\" changes": `, "init_lora_weights": "olora"`,
		"lora_dropout: 1 must":                 `, "lora_dropout": 1`,
		"use_rslora":                           `, "use_rslora": "yes"`,
		"duplicate":                            `, "r": 3`,
	} {
		if _, _, err := parseAdapterConfig([]byte(config(fields)), twoLayers); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; want %q", fields, err, want)
		}
	}
	for want, text := range map[string]string{
		`peft_type: "IA3"`:                    `{"peft_type": "IA3"}`,
		`task_type: "SEQ_CLS"`:                strings.Replace(config(``), "CAUSAL_LM", "SEQ_CLS", 1),
		"r: 0 must be between":                strings.Replace(config(``), `"r": 2`, `"r": 0`, 1),
		"lora_alpha: -1 must be above 0":      strings.Replace(config(``), `"lora_alpha": 4`, `"lora_alpha": -1`, 1),
		`target_modules: "lm_head"`:           strings.Replace(config(``), "q_proj", "lm_head", 1),
		"target_modules: must be a list":      strings.Replace(config(``), `["q_proj"]`, "3", 1),
		"matches no projection of the model":  strings.Replace(config(``), `["q_proj"]`, `".*\\.lm_head"`, 1),
		"is no pattern that can be read here": strings.Replace(config(``), `["q_proj"]`, `"(?=q).*"`, 1),
	} {
		if _, _, err := parseAdapterConfig([]byte(text), twoLayers); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; want %q", text, err, want)
		}
	}
	for pattern, want := range map[string]int{`"all-linear"`: 14, `"All-Linear"`: 14, `".*\\.1\\.self_attn\\.[qv]_proj"`: 2, `"model\\.layers\\.0\\..*_proj"`: 7} {
		_, chosen, err := parseAdapterConfig([]byte(strings.Replace(config(``), `["q_proj"]`, pattern, 1)), twoLayers)
		if err != nil || len(chosen) != want {
			t.Errorf("%s chose %q, %v; want %d", pattern, chosen, err, want)
		}
	}
}

// TestBrokenAdapterFolders names what is wrong with a folder.
func TestBrokenAdapterFolders(t *testing.T) {
	write := func(t *testing.T, dir, name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tensors := func(t *testing.T, dir string, change func([]Tensor) []Tensor) {
		a := adapterOn(t, "q_proj")
		for i := range a.Tensors {
			a.Tensors[i].Name = peftPrefix + a.Tensors[i].Name
		}
		if _, err := writeOne(filepath.Join(dir, adapterTensorsName), change(a.Tensors)); err != nil {
			t.Fatal(err)
		}
	}
	for want, spoil := range map[string]func(t *testing.T, dir string){
		"adapter_config.json is missing":       func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, adapterConfigName)) },
		"adapter_model.safetensors is missing": func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, adapterTensorsName)) },
		"does not begin with base_model": func(t *testing.T, dir string) {
			tensors(t, dir, func(ts []Tensor) []Tensor { ts[0].Name = "transformer.q"; return ts })
		},
		"is no factor of a projection": func(t *testing.T, dir string) {
			tensors(t, dir, func(ts []Tensor) []Tensor { ts[0].Name = peftPrefix + "lm_head.lora_A.weight"; return ts })
		},
		"the adapter belongs to another model": func(t *testing.T, dir string) {
			tensors(t, dir, func(ts []Tensor) []Tensor { ts[0].Shape = []int{4, 8}; return ts })
		},
		"is missing beside": func(t *testing.T, dir string) { tensors(t, dir, func(ts []Tensor) []Tensor { return ts[1:] }) },
		"adapts 1 matrices but target_modules": func(t *testing.T, dir string) {
			tensors(t, dir, func(ts []Tensor) []Tensor { return ts[2:] })
		},
		"there is no tensor": func(t *testing.T, dir string) { tensors(t, dir, func([]Tensor) []Tensor { return nil }) },
		"rank 3 on this model": func(t *testing.T, dir string) {
			write(t, dir, adapterConfigName, strings.Replace(config(""), `"r": 2`, `"r": 3`, 1))
		},
		"molt-adapter.json": func(t *testing.T, dir string) { write(t, dir, adapterOursName, `{"base": 3}`) },
	} {
		dir := t.TempDir()
		write(t, dir, adapterConfigName, config(""))
		tensors(t, dir, func(ts []Tensor) []Tensor { return ts })
		if _, err := ReadAdapter(dir, twoLayers); err != nil {
			t.Fatal(err)
		}
		spoil(t, dir)
		if _, err := ReadAdapter(dir, twoLayers); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	dir := filepath.Join(t.TempDir(), "adapter")
	if _, err := WriteAdapter(dir, adapterOn(t, "q_proj"), twoLayers); err != nil {
		t.Fatal(err)
	}
	write(t, dir, adapterConfigName, config(""))
	if _, err := ReadAdapter(dir, twoLayers); err == nil || !strings.Contains(err.Error(), "the file is damaged or was changed") {
		t.Errorf("a changed file of ours: error %v", err)
	}
}

// FuzzAdapterConfig: whatever is accepted has bounds, and is read back from what is written of it.
func FuzzAdapterConfig(f *testing.F) {
	f.Add(config(``))
	f.Add(config(`, "use_rslora": true, "lora_dropout": 0.25, "base_model_name_or_path": "x"`))
	f.Add(strings.Replace(config(``), `["q_proj"]`, `".*_proj"`, 1))
	f.Fuzz(func(t *testing.T, text string) {
		a, chosen, err := parseAdapterConfig([]byte(text), twoLayers)
		if err != nil {
			return
		}
		if a.Rank < 1 || a.Rank > maxAdapterRank || !(a.Alpha > 0) || len(chosen) == 0 {
			t.Fatalf("accepted %+v on %q", a, chosen)
		}
		written, err := a.marshalConfig(modules(twoLayers, chosen))
		if err != nil {
			t.Fatal(err)
		}
		again, chosenAgain, err := parseAdapterConfig(written, twoLayers)
		slices.Sort(chosen)
		slices.Sort(chosenAgain)
		if err != nil || again.Rank != a.Rank || again.Alpha != a.Alpha || again.RSLoRA != a.RSLoRA || again.Model != a.Model || !slices.Equal(chosen, chosenAgain) {
			t.Fatalf("%+v on %q came back as %+v on %q, %v", a, chosen, again, chosenAgain, err)
		}
	})
}
