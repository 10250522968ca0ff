// What is in a model folder, and what it takes to use it.

package models

import (
	"fmt"
	"path/filepath"
	"strings"

	"molt/chat"
	"molt/engine/local"
	"molt/internal/spell"
	"molt/numeric/model"
	"molt/run/problem"
	"molt/run/recipe"
)

// Info describes a model.
type Info struct {
	Path         string       `json:"path"`
	Architecture string       `json:"architecture"`
	Parameters   int64        `json:"parameters"`
	Steps        int64        `json:"steps"`  // optimizer steps that made the weights; 0 when they were drawn, or not written here
	DTypes       []string     `json:"dtypes"` // of the stored weights; they are computed with in float32
	Hidden       int          `json:"hidden_size"`
	Layers       int          `json:"num_hidden_layers"`
	Heads        int          `json:"num_attention_heads"`
	KVHeads      int          `json:"num_key_value_heads"`
	HeadDim      int          `json:"head_dim"`
	FFN          int          `json:"intermediate_size"`
	Vocabulary   int          `json:"vocab_size"`     // rows of the embedding
	TokenizerIDs int          `json:"tokenizer_size"` // ids that the tokenizer can write
	Context      int          `json:"max_position_embeddings"`
	Tied         bool         `json:"tie_word_embeddings"`
	EOS          []NamedToken `json:"eos"`
	Template     *Template    `json:"chat_template"` // nil when there is none: the model completes text
	Suggested    []string     `json:"suggested"`     // sampling settings of generation_config.json, as flags
	Fingerprint  string       `json:"fingerprint"`   // of the weights, and of the adapter
	Adapter      *Adapter     `json:"adapter,omitempty"`
	Generate     MemoryPlan   `json:"generate"`
	Train        MemoryPlan   `json:"train"`
}

// NamedToken is an id with its spelling.
type NamedToken struct {
	ID   int32  `json:"id"`
	Text string `json:"text"`
}

// Template describes a chat template.
type Template struct {
	Family  string      `json:"family"`
	Named   []string    `json:"named"`       // names of all templates
	EndTurn *NamedToken `json:"end_of_turn"` // nil when no control token ends a turn: the model cannot be trained on turns
}

// MemoryPlan is what an engine reserves, in bytes.
type MemoryPlan struct {
	MaxLen int              `json:"max_len"` // tokens of the longest sequence it is for
	Total  int64            `json:"total_bytes"`
	Parts  map[string]int64 `json:"parts"`
}

// Describe opens the model at path, with an adapter unless that is "", and describes it.
func Describe(path, adapter string) (*Info, error) {
	if err := PointToModel(path); err != nil {
		return nil, err
	}
	m, err := Open(path)
	if err == nil {
		err = m.Adapt(adapter)
	}
	if err != nil {
		return nil, err
	}
	return m.Describe()
}

// Describe describes an open model.
func (m *Model) Describe() (*Info, error) {
	path, c := m.Path, m.Config
	i := &Info{
		Path: path, Architecture: c.Architecture, Parameters: int64(m.Shape.ParamCount()), Steps: m.Steps, Hidden: c.HiddenSize, Layers: c.NumHiddenLayers,
		Heads: c.NumAttentionHeads, KVHeads: c.NumKeyValueHeads, HeadDim: c.HeadDim, FFN: c.IntermediateSize, Vocabulary: c.VocabSize,
		TokenizerIDs: m.Tok.VocabSize(), Context: m.Shape.MaxPositions, Tied: c.TieWordEmbeddings, EOS: []NamedToken{},
		Suggested: ReadSuggestions(filepath.Join(path, "generation_config.json")), Fingerprint: m.Weights.Fingerprint, Template: m.template(),
		Adapter: m.describeAdapter(),
	}
	for _, id := range m.EOS {
		i.EOS = append(i.EOS, NamedToken{id, m.Tok.Token(id)})
	}
	for _, d := range m.DTypes {
		i.DTypes = append(i.DTypes, string(d))
	}
	return i, i.plans(m.Shape)
}

// plans sizes the embedded engine as molt rl does by default.
func (i *Info) plans(shape model.Config) error {
	d := recipe.Defaults()
	shape.MaxPositions = min(shape.MaxPositions, d.Rollout.MaxLen)
	memory, err := local.Plan(shape, Engine(0, 0, d.Engine.CacheMiB, d.Train.MicroTokens, shape))
	if err != nil {
		return &problem.Problem{Code: problem.Model, Where: i.Path, What: err.Error(), Fix: "choose another model", Err: err}
	}
	i.Generate = MemoryPlan{shape.MaxPositions, memory.Generator(), map[string]int64{"weights": memory.GeneratorWeights, "kv_cache": memory.KV, "activations": memory.GeneratorWork}}
	i.Train = MemoryPlan{shape.MaxPositions, memory.Learner(), map[string]int64{"weights": memory.LearnerWeights, "gradients": memory.Gradients, "moments": memory.Moments, "activations": memory.Activations}}
	return nil
}

// families are known by what only they write; the first that fits counts.
var families = []struct{ name, mark string }{
	{"ChatML (Qwen and others)", "<|im_start|>"},
	{"Llama 3", "<|start_header_id|>"},
	{"Llama 4", "<|header_start|>"},
	{"DeepSeek", "<｜User｜>"},
	{"Harmony (gpt-oss)", "<|channel|>"},
	{"Gemma", "<start_of_turn>"},
	{"Mistral", "[INST]"},
	{"Phi", "<|user|>"},
}

func (m *Model) template() *Template {
	if m.Renderer == nil {
		return nil
	}
	t := &Template{Family: "unknown"}
	for _, s := range m.sources {
		t.Named = append(t.Named, s.Name)
	}
	source := m.source()
	for _, f := range families {
		if strings.Contains(source, f.mark) {
			t.Family = f.name
			break
		}
	}
	if source == chat.BuiltinTemplate() {
		t.Family = "Molt's own (ChatML)"
	}
	if id, ok := m.Renderer.EndOfTurn(); ok {
		t.EndTurn = &NamedToken{id, m.Tok.Token(id)}
	}
	return t
}

// String shows the model for people.
func (i *Info) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s %s\n", name, fmt.Sprintf(format, args...))
	}
	tied := "untied"
	if i.Tied {
		tied = "tied"
	}
	line("model", "%s", spell.Quoted(i.Path))
	line("architecture", "%s, %s parameters, stored as %s", i.Architecture, spell.Thousands(i.Parameters), strings.Join(i.DTypes, ", "))
	line("shape", "width %d, %d layers, %d query and %d key/value heads of %d, MLP %d, embeddings %s", i.Hidden, i.Layers, i.Heads, i.KVHeads, i.HeadDim, i.FFN, tied)
	line("context", "%s tokens", spell.Thousands(int64(i.Context)))
	line("vocabulary", "%s rows, %s ids in the tokenizer", spell.Thousands(int64(i.Vocabulary)), spell.Thousands(int64(i.TokenizerIDs)))
	line("end of text", "%s", tokensText(i.EOS))
	line("chat template", "%s", i.Template)
	if len(i.Suggested) > 0 {
		line("suggests", "%s (generation_config.json; not applied)", strings.Join(i.Suggested, " "))
	}
	if a := i.Adapter; a != nil {
		line("adapter", "%s", a)
	}
	line("fingerprint", "%s, after %s optimizer steps", i.Fingerprint, spell.Thousands(i.Steps))
	line("to generate", "%s", i.Generate.text("weights", "kv_cache", "activations"))
	line("to train", "%s", i.Train.text("weights", "gradients", "moments", "activations"))
	return b.String()
}

func tokensText(list []NamedToken) string {
	if len(list) == 0 {
		return "none: replies end at their token budget"
	}
	var names []string
	for _, t := range list {
		names = append(names, fmt.Sprintf("%s (%d)", t.Text, t.ID))
	}
	return strings.Join(names, ", ")
}

func (t *Template) String() string {
	if t == nil {
		return "none: the model completes text"
	}
	text := t.Family
	if len(t.Named) > 1 {
		text += " [" + strings.Join(t.Named, ", ") + "]"
	}
	if t.EndTurn == nil {
		return text + ", which ends no turn with a control token: not for training"
	}
	return fmt.Sprintf("%s, turns end with %s (%d)", text, t.EndTurn.Text, t.EndTurn.ID)
}

func (p MemoryPlan) text(order ...string) string {
	var parts []string
	for _, name := range order {
		parts = append(parts, strings.ReplaceAll(name, "_", " ")+" "+spell.MiB(p.Parts[name]))
	}
	return fmt.Sprintf("up to %s for sequences of %d tokens: %s", spell.MiB(p.Total), p.MaxLen, strings.Join(parts, ", "))
}
