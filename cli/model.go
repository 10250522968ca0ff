package cli

import (
	"errors"
	"fmt"

	"molt/internal/spell"
	"molt/run/models"
	"molt/run/problem"
)

// modelCmd is `molt model`.
type modelCmd struct {
	Init    modelInitCmd    `cmd:"" help:"Make a model from nothing: drawn weights, a tokenizer, a chat template."`
	Info    modelInfoCmd    `cmd:"" help:"Say what is in a model folder, and what memory it takes to use it."`
	Import  modelImportCmd  `cmd:"" help:"Make a model folder of a GGUF file (llama.cpp)."`
	Convert modelConvertCmd `cmd:"" help:"Write a model folder with weights of another type, or in shards."`
	Merge   modelMergeCmd   `cmd:"" help:"Make one model of a model and an adapter (LoRA) that was trained on it."`

	Encode modelEncodeCmd `cmd:"" help:"Text to ids, one JSON object a line."`
	Decode modelDecodeCmd `cmd:"" help:"Ids to text, one JSON object a line."`
	Render modelRenderCmd `cmd:"" help:"Conversations to prompts and ids, one JSON object a line."`
	Logits modelLogitsCmd `cmd:"" help:"Ids to log-probs and logits, one JSON object a line."`
}

// modelInitCmd is `molt model init`. Its shape is the quickstart's by default.
type modelInitCmd struct {
	Out string `arg:"" help:"Folder to write: new or empty."`

	TrainTokenizer string   `xor:"tokenizer" placeholder:"FILE" help:"Train a byte-level BPE on FILE: JSONL with \"text\" or \"messages\" in each row, or plain text."`
	Tokenizer      string   `xor:"tokenizer" placeholder:"FILE" help:"Use this tokenizer.json."`
	VocabSize      *int     `placeholder:"N" help:"Most ids of a trained tokenizer, control tokens included (default 4096)."`
	Visible        []string `placeholder:"TOKEN" help:"Further control tokens of a trained tokenizer, comma separated, such as <answer>,</answer>."`
	Plain          bool     `help:"No chat template: the model completes text."`
	EOS            string   `name:"eos" placeholder:"TOKEN" help:"Token that ends a reply (default <|im_end|>, with --plain <|endoftext|>)."`

	Architecture     string  `enum:"qwen3,llama" default:"qwen3" help:"qwen3 (Llama with norms on queries and keys) or llama."`
	HiddenSize       int     `default:"128" placeholder:"N" help:"Width of the residual stream, a multiple of 16 (default ${default})."`
	IntermediateSize int     `default:"0" placeholder:"N" help:"Width of the MLP (default three times the hidden size)."`
	Layers           int     `name:"num-hidden-layers" default:"2" placeholder:"N" help:"Decoder blocks (default ${default})."`
	Heads            int     `name:"num-attention-heads" default:"4" placeholder:"N" help:"Query heads (default ${default})."`
	KVHeads          int     `name:"num-key-value-heads" default:"0" placeholder:"N" help:"Key/value heads, which divide the query heads (default half of them)."`
	HeadDim          int     `default:"0" placeholder:"N" help:"Width of a head, even (default hidden size by query heads)."`
	MaxPositions     int     `name:"max-position-embeddings" default:"2048" placeholder:"N" help:"Longest sequence, in tokens (default ${default})."`
	RopeTheta        float64 `default:"10000" placeholder:"X" help:"Base of the rotary frequencies (default ${default})."`
	Untied           bool    `help:"Give the output head weights of its own."`
	Seed             uint64  `default:"0" placeholder:"N" help:"Seed of the weights (default ${default})."`

	JSON   bool `name:"json" help:"Print what was made as one JSON object."`
	DryRun bool `help:"Print how large it would be; write nothing."`
}

// Help shows two ways to begin.
func (*modelInitCmd) Help() string {
	return `Examples:

  molt model init models/tiny --train-tokenizer chats.jsonl --vocab-size 512 --visible '<answer>,</answer>'
  molt model init models/small --tokenizer tokenizer.json --hidden-size 512 --num-hidden-layers 8 --num-attention-heads 8`
}

func (c *modelInitCmd) Run(a *app) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	if c.DryRun {
		plan, err := models.PlanInit(cfg)
		if err != nil || c.JSON {
			return firstError(err, func() error { return a.dataJSON(plan) })
		}
		return a.data(legible(plan.String()))
	}
	if err := models.Init(cfg); err != nil {
		return err
	}
	info, err := models.Describe(c.Out, "")
	if err != nil {
		return err
	}
	if c.JSON {
		return a.dataJSON(info)
	}
	if err := a.data(legible(info.String())); err != nil {
		return err
	}
	why, command := "teach it", "molt sft --model.model_name_or_path "+spell.Quoted(c.Out)+" --data.dataset FILE.jsonl "+gentle+" --ckpt.path runs/sft"
	if c.Plain {
		why, command = "hear what it says", "molt generate "+spell.Quoted(c.Out)+" --prompt TEXT"
	}
	a.next(next{why, command}, next{"look at it again", "molt model info " + spell.Quoted(c.Out)})
	return nil
}

// defaultVocab is the vocabulary of a trained tokenizer.
const defaultVocab = 4096

func (c *modelInitCmd) config() (models.InitConfig, error) {
	cfg := models.InitConfig{Out: c.Out, Seed: c.Seed, Plain: c.Plain, EOS: c.EOS, VocabSize: defaultVocab, Visible: c.Visible}
	cfg.Shape = models.TinyShape()
	s := &cfg.Shape
	s.Architecture = map[string]string{"qwen3": "Qwen3ForCausalLM", "llama": "LlamaForCausalLM"}[c.Architecture]
	s.HiddenSize, s.NumHiddenLayers, s.NumAttentionHeads = c.HiddenSize, c.Layers, c.Heads
	s.IntermediateSize = or(c.IntermediateSize, 3*c.HiddenSize)
	s.NumKeyValueHeads = or(c.KVHeads, max(1, c.Heads/2))
	s.HeadDim = or(c.HeadDim, c.HiddenSize/max(1, c.Heads))
	s.MaxPositionEmbeddings, s.RopeTheta, s.TieWordEmbeddings = c.MaxPositions, c.RopeTheta, !c.Untied
	if c.VocabSize != nil {
		cfg.VocabSize = *c.VocabSize
	}
	if c.Tokenizer == "" && c.TrainTokenizer == "" {
		return cfg, &problem.Problem{Code: problem.Usage, What: "a model needs a tokenizer", Fix: "give --train-tokenizer FILE with texts like those it will see, or --tokenizer FILE.json"}
	}
	if c.Tokenizer == "" {
		texts, err := models.ReadTexts(c.TrainTokenizer)
		cfg.Texts = texts
		return cfg, err
	}
	data, err := models.ReadTokenizer(c.Tokenizer)
	cfg.Tokenizer = data
	return cfg, errors.Join(err, c.ineffective(c.VocabSize != nil, "--vocab-size"), c.ineffective(len(c.Visible) > 0, "--visible"))
}

// ineffective refuses a flag that only a trained tokenizer would read.
func (c *modelInitCmd) ineffective(given bool, flag string) error {
	if !given {
		return nil
	}
	return &problem.Problem{Code: problem.Combined, What: flag + " has no effect with --tokenizer", Fix: "leave it out, or train a tokenizer with --train-tokenizer"}
}

func or(given, otherwise int) int {
	if given != 0 {
		return given
	}
	return otherwise
}

// modelInfoCmd is `molt model info`.
type modelInfoCmd struct {
	Model   string `arg:"" help:"Hugging Face model folder."`
	Adapter string `placeholder:"DIR" help:"PEFT folder of an adapter to put on the model."`
	JSON    bool   `name:"json" help:"Print one JSON object."`
}

func (c *modelInfoCmd) Run(a *app) error {
	info, err := models.Describe(c.Model, c.Adapter)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.dataJSON(info)
	}
	return a.data(legible(fmt.Sprint(info)))
}

// modelMergeCmd is `molt model merge`.
type modelMergeCmd struct {
	Base    string `arg:"" help:"Hugging Face model folder that the adapter was trained on."`
	Adapter string `arg:"" help:"PEFT folder: adapter_config.json and adapter_model.safetensors."`
	Out     string `arg:"" help:"Folder to write: new or empty."`
	JSON    bool   `name:"json" help:"Print what was made as one JSON object."`
}

// Help says what to expect.
func (*modelMergeCmd) Help() string {
	return `The merged model computes what the two compute together, bit for bit; base and adapter are left as they are.

Example:

  molt model merge models/base runs/lora/best models/merged`
}

func (c *modelMergeCmd) Run(a *app) error {
	info, err := models.MergeAdapter(c.Base, c.Adapter, c.Out)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.dataJSON(info)
	}
	if err := a.data(legible(info.String())); err != nil {
		return err
	}
	a.next(next{"hear what it says", "molt generate " + spell.Quoted(c.Out)})
	return nil
}
