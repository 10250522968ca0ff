// adapter_config.json. A field that changes the mathematics is honoured or refused by name, one that is not known as well
// unless it is switched off: an adapter that is served another way than it was trained looks healthy.

package weights

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

const maxAdapterRank = 1 << 16 // larger than any matrix that an adapter would save memory on

// inert are fields that change nothing once the factors are there: notes, or parameters of methods that other fields
// switch on.
var inert = []string{
	"auto_mapping", "ensure_weight_tying", "inference_mode", "layers_pattern", "megatron_core", "peft_version", "qalora_group_size",
	"revision", "runtime_config",
}

// unsupported says what else a field would do.
var unsupported = map[string]string{
	"alora_invocation_tokens": "switches the adapter on in the middle of a sequence",
	"alpha_pattern":           "gives matrices scales of their own",
	"arrow_config":            "mixes several adapters",
	"exclude_modules":         "takes modules out again",
	"fan_in_fan_out":          "stores weights the other way round",
	"layer_replication":       "repeats layers",
	"layers_to_transform":     "adapts some layers only",
	"lora_bias":               "adds a bias",
	"megatron_config":         "changes the layers",
	"modules_to_save":         "replaces whole modules",
	"rank_pattern":            "gives matrices ranks of their own",
	"target_parameters":       "adapts parameters that are no linear layer's",
	"trainable_token_indices": "replaces rows of the embedding",
	"use_dora":                "scales columns (DoRA)",
	"use_qalora":              "groups inputs (QA-LoRA)",
}

// parseAdapterConfig reads everything but the factors, and which matrices they belong to.
func parseAdapterConfig(data []byte, tensors []Spec) (a Adapter, chosen []string, err error) {
	fields := map[string]jsontext.Value{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return a, nil, shorten(err)
	}
	var c struct {
		Type    string         `json:"peft_type"`
		Task    *string        `json:"task_type"`
		Rank    int            `json:"r"`
		Alpha   float64        `json:"lora_alpha"`
		RSLoRA  bool           `json:"use_rslora"`
		Dropout float64        `json:"lora_dropout"`
		Bias    *string        `json:"bias"`
		Init    jsontext.Value `json:"init_lora_weights"`
		Model   *string        `json:"base_model_name_or_path"`
		Targets jsontext.Value `json:"target_modules"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return a, nil, shorten(err)
	}
	for _, name := range []string{"peft_type", "task_type", "r", "lora_alpha", "use_rslora", "lora_dropout", "bias", "init_lora_weights", "base_model_name_or_path", "target_modules"} {
		delete(fields, name)
	}
	if err := refuseFields(fields); err != nil {
		return a, nil, err
	}
	a = Adapter{Rank: c.Rank, Alpha: c.Alpha, RSLoRA: c.RSLoRA, Dropout: c.Dropout, Model: value(c.Model)}
	switch {
	case c.Type != "LORA":
		return a, nil, fmt.Errorf("peft_type: %q is not supported (LORA is)", c.Type)
	case c.Task != nil && *c.Task != "CAUSAL_LM":
		return a, nil, fmt.Errorf("task_type: %q is not supported (CAUSAL_LM is)", *c.Task)
	case c.Rank < 1 || c.Rank > maxAdapterRank:
		return a, nil, fmt.Errorf("r: %d must be between 1 and %d", c.Rank, maxAdapterRank)
	case !(c.Alpha > 0 && c.Alpha <= math.MaxFloat32):
		return a, nil, fmt.Errorf("lora_alpha: %v must be above 0", c.Alpha)
	case !(c.Dropout >= 0 && c.Dropout < 1):
		return a, nil, fmt.Errorf("lora_dropout: %v must be at least 0 and below 1", c.Dropout)
	case c.Bias != nil && *c.Bias != "none":
		return a, nil, fmt.Errorf("bias: %q trains biases too, which is not supported (none is)", *c.Bias)
	}
	if err := checkInit(c.Init); err != nil {
		return a, nil, fmt.Errorf("init_lora_weights: %w", err)
	}
	if chosen, err = parseTargets(c.Targets, tensors); err != nil {
		return a, nil, fmt.Errorf("target_modules: %w", err)
	}
	return a, chosen, nil
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func refuseFields(fields map[string]jsontext.Value) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if slices.Contains(inert, name) || off(fields[name]) {
			continue
		}
		if what, known := unsupported[name]; known {
			return fmt.Errorf("%s: %s, which is not supported", name, what)
		}
		return fmt.Errorf("%.60q: is set and not known; it may change the mathematics. Delete it if it does not", name)
	}
	return nil
}

// off reports a value that switches nothing on.
func off(v jsontext.Value) bool {
	switch v.Kind() {
	case 'n', 'f':
		return true
	}
	v = slices.Clone(v)
	return v.Compact() == nil && (string(v) == "[]" || string(v) == "{}")
}

// checkInit refuses ways of beginning that change the base as well: with another base the factors mean something else.
func checkInit(v jsontext.Value) error {
	if v == nil || v.Kind() != '"' {
		return nil // true, false
	}
	var method string
	if err := json.Unmarshal(v, &method); err != nil {
		return err
	}
	if slices.Contains([]string{"gaussian", "eva", "orthogonal"}, method) {
		return nil
	}
	return fmt.Errorf("%.40q changes the base as well; save the adapter converted to plain LoRA", method)
}

// parseTargets reads a list of names, all-linear, or a regular expression that matches whole names.
func parseTargets(v jsontext.Value, tensors []Spec) ([]string, error) {
	switch v.Kind() {
	case '[':
		var list []string
		if err := json.Unmarshal(v, &list); err != nil {
			return nil, shorten(err)
		}
		return Targets(tensors, list)
	case '"':
		var text string
		if err := json.Unmarshal(v, &text); err != nil {
			return nil, err
		}
		if strings.ToLower(text) == AllLinear {
			return Targets(tensors, []string{AllLinear})
		}
		return matching(text, tensors)
	}
	return nil, errors.New("must be a list of names, or one text")
}

func matching(pattern string, tensors []Spec) ([]string, error) {
	if len(pattern) > maxNameBytes {
		return nil, fmt.Errorf("a pattern of %d bytes; at most %d", len(pattern), maxNameBytes)
	}
	re, err := regexp.Compile(`^(?:` + pattern + `)$`)
	if err != nil {
		return nil, fmt.Errorf("%.60q is no pattern that can be read here; list the names instead", pattern)
	}
	var chosen []string
	for _, s := range tensors {
		if name, ok := projection(s); ok && re.MatchString(name) {
			chosen = append(chosen, name)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%.60q matches no projection of the model", pattern)
	}
	return chosen, nil
}

// marshalConfig writes the fields that PEFT and the engines that serve its adapters read.
func (a Adapter) marshalConfig(modules []string) ([]byte, error) {
	var model *string
	if a.Model != "" {
		model = &a.Model
	}
	return json.Marshal(struct {
		Model       *string  `json:"base_model_name_or_path"`
		Bias        string   `json:"bias"`
		FanInFanOut bool     `json:"fan_in_fan_out"`
		Inference   bool     `json:"inference_mode"`
		Init        bool     `json:"init_lora_weights"`
		Alpha       float64  `json:"lora_alpha"`
		Dropout     float64  `json:"lora_dropout"`
		Type        string   `json:"peft_type"`
		Rank        int      `json:"r"`
		Targets     []string `json:"target_modules"`
		Task        string   `json:"task_type"`
		DoRA        bool     `json:"use_dora"`
		RSLoRA      bool     `json:"use_rslora"`
	}{
		Model: model, Bias: "none", Inference: true, Init: true, Alpha: a.Alpha, Dropout: a.Dropout, Type: "LORA", Rank: a.Rank,
		Targets: modules, Task: "CAUSAL_LM", RSLoRA: a.RSLoRA,
	}, jsontext.WithIndent("  "))
}
