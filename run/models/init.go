// A model from nothing: drawn weights, a tokenizer trained or given, Molt's own chat template, as a Hugging Face folder.

package models

import (
	"cmp"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"molt/chat"
	"molt/engine/local"
	"molt/internal/spell"
	"molt/numeric/model"
	"molt/run/problem"
	"molt/tokenizer"
	"molt/weights"
)

// InitConfig says which model InitModel makes.
type InitConfig struct {
	Out   string              // folder to write, missing or empty
	Shape weights.ModelConfig // VocabSize, BOS and EOS are filled in from the tokenizer
	Seed  uint64              // of the weights

	Tokenizer []byte           // a tokenizer.json to use; nil trains one on Texts
	Texts     iter.Seq[string] // what a byte-level BPE is trained on; control strings in it are no text
	VocabSize int              // most ids of a trained tokenizer
	Visible   []string         // further control tokens of a trained tokenizer that the policy may say, such as <answer>

	Plain bool   // no chat template: the model completes text
	EOS   string // token that ends a reply; "" takes <|im_end|>, of a plain model <|endoftext|>
}

// TinyShape is a Qwen3-shaped decoder of a few hundred thousand parameters.
func TinyShape() weights.ModelConfig {
	return weights.ModelConfig{
		Architecture: weights.Qwen3, HiddenSize: 128, IntermediateSize: 384, NumHiddenLayers: 2, NumAttentionHeads: 4,
		NumKeyValueHeads: 2, HeadDim: 32, MaxPositionEmbeddings: 2048, RMSNormEps: 1e-6, RopeTheta: 10000, TieWordEmbeddings: true,
	}
}

// Init draws a model and writes it to c.Out, wholly or not at all.
func Init(c InitConfig) error {
	if err := c.empty(); err != nil {
		return err
	}
	m, err := c.draw()
	if err != nil {
		return err
	}
	if err := makeAround(c.Out); err != nil {
		return err
	}
	if _, err := weights.WriteFolder(c.Out, m); err != nil {
		return &problem.Problem{Code: problem.Resource, Where: c.Out, What: "cannot write the model", Why: problem.Reason(err), Fix: "make room, or choose a folder that you may write to", Err: err}
	}
	return nil
}

// makeAround makes the folder that a model's folder goes into.
func makeAround(out string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return &problem.Problem{Code: problem.Resource, Where: out, What: "cannot make the folder around the model", Why: problem.Reason(err), Fix: "choose a folder that you may write to", Err: err}
	}
	return nil
}

// empty refuses a folder that holds something.
func (c InitConfig) empty() error {
	if held, err := os.ReadDir(c.Out); err == nil && len(held) > 0 {
		return &problem.Problem{Code: problem.RunFolder, Where: c.Out, What: "the folder is not empty", Why: "it has " + held[0].Name(), Fix: "choose one that is new or empty"}
	}
	return nil
}

// Plan is what InitModel would make.
type Plan struct {
	Out        string `json:"out"`
	Parameters int64  `json:"parameters"`
	Vocabulary int    `json:"vocab_size"`
	Bytes      int64  `json:"bytes"` // of the weights
}

// PlanInit does everything but drawing and writing.
func PlanInit(c InitConfig) (*Plan, error) {
	if err := c.empty(); err != nil {
		return nil, err
	}
	m, shape, err := c.outline()
	if err != nil {
		return nil, err
	}
	n := int64(shape.ParamCount())
	return &Plan{Out: c.Out, Parameters: n, Vocabulary: m.Config.VocabSize, Bytes: 4 * n}, nil
}

// String shows the plan for people.
func (p *Plan) String() string {
	return fmt.Sprintf("would write %s: %s parameters, vocabulary of %s, %s\n", spell.Quoted(p.Out), spell.Thousands(p.Parameters), spell.Thousands(int64(p.Vocabulary)), spell.MiB(p.Bytes))
}

// outline is the model without its weights.
func (c InitConfig) outline() (m weights.Model, shape model.Config, err error) {
	tok, err := c.tokenizer()
	if err != nil {
		return m, shape, err
	}
	m = weights.Model{Config: c.Shape, Texts: weights.Texts{Tokenizer: tok.JSON()}}
	m.Config.VocabSize = tok.VocabSize()
	if m.EOS, err = c.eos(tok); err != nil {
		return m, shape, err
	}
	m.Config.EOS = m.EOS
	if !c.Plain {
		m.ChatTemplate = []byte(chat.BuiltinTemplate())
	}
	if shape, err = local.Shape(m.Config); err != nil {
		return m, shape, &problem.Problem{Code: problem.Setting, What: "no such model can be made: " + strings.ReplaceAll(err.Error(), "\n", "; "), Fix: "change the shape", Err: err}
	}
	return m, shape, nil
}

func (c InitConfig) draw() (weights.Model, error) {
	m, shape, err := c.outline()
	if err != nil {
		return m, err
	}
	w, err := local.Init(shape, c.Seed)
	if err != nil {
		return m, fmt.Errorf("models: drawing the weights: %w", err)
	}
	for _, t := range w.Tensors {
		m.Tensors = append(m.Tensors, weights.Tensor(t))
	}
	return m, nil
}

func (c InitConfig) tokenizer() (*tokenizer.Tokenizer, error) {
	if c.Tokenizer != nil {
		tok, err := tokenizer.New(c.Tokenizer)
		if err != nil {
			return nil, &problem.Problem{Code: problem.Tokenizer, What: err.Error(), Fix: "choose another tokenizer.json, or train one", Err: err}
		}
		return tok, nil
	}
	visible := append(chat.BuiltinMarkup(), c.Visible...)
	tok, err := tokenizer.Train(c.Texts, c.VocabSize, chat.BuiltinSpecials(), tokenizer.TrainOptions{Visible: visible})
	if err != nil {
		return nil, &problem.Problem{Code: problem.Tokenizer, What: err.Error(), Fix: "raise the vocabulary size", Err: err}
	}
	return tok, nil
}

// eos finds the token that ends a reply. A chat model needs every control token of the built-in template.
func (c InitConfig) eos(tok *tokenizer.Tokenizer) ([]int32, error) {
	name := c.EOS
	if c.Plain {
		name = cmp.Or(name, "<|endoftext|>")
	} else {
		name = cmp.Or(name, "<|im_end|>")
		for _, t := range []string{"<|im_start|>", "<|im_end|>"} {
			if _, ok := tok.ID(t); !ok {
				return nil, &problem.Problem{Code: problem.Tokenizer, What: "the tokenizer has no " + t + ", which the chat template writes", Fix: "make a plain model, or train a tokenizer"}
			}
		}
	}
	id, ok := tok.ID(name)
	if !ok {
		return nil, &problem.Problem{Code: problem.Tokenizer, What: "the tokenizer has no token " + name + " to end a reply with", Fix: "name a token that it has"}
	}
	return []int32{id}, nil
}
