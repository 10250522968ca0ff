package cli

import (
	"fmt"

	"molt/internal/spell"
	"molt/run/models"
)

// modelImportCmd is `molt model import`.
type modelImportCmd struct {
	File string `arg:"" help:"GGUF file."`
	Out  string `arg:"" help:"Folder to write: new or empty."`

	DType    string `name:"dtype" default:"float32" placeholder:"TYPE" help:"Of the written weights: float32 holds every value exactly; bfloat16 and float16 round (default ${default})."`
	MaxShard size   `name:"max-shard-size" default:"50GB" placeholder:"SIZE" help:"Most weights in one file, such as 2GB or 500MB; 0 writes one file (default ${default})."`
	JSON     bool   `name:"json" help:"Print what was imported as one JSON object."`
}

// Help shows what is understood.
func (*modelImportCmd) Help() string {
	return `Reads models of llama.cpp: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K tensors of Llama, Mistral, Qwen 2 and 3,
SmolLM 3, Phi 3, Gemma, OLMo 2 and Granite, with their tokenizer and chat template. Quantized weights are widened; training them again is
possible, but what the quantization lost is lost.

Example:

  molt model import SmolLM2-135M-Instruct.Q4_1.gguf models/smollm2`
}

func (c *modelImportCmd) Run(a *app) error {
	width, terminal := isTerminal(a.stderr)
	cfg := models.ImportConfig{File: c.File, Out: c.Out, DType: c.DType, MaxShard: int64(c.MaxShard)}
	if terminal && !c.JSON {
		cfg.Progress = func(done, total int) {
			line := fmt.Sprintf("tensor %d of %d", done, total)
			fmt.Fprintf(a.stderr, "\r%.*s", width, line)
			if done == total {
				fmt.Fprint(a.stderr, "\r\x1b[K")
			}
		}
	}
	imported, err := models.Import(cfg)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.dataJSON(imported)
	}
	if err := a.data(legible(imported.String())); err != nil {
		return err
	}
	a.next(next{"look at it", "molt model info " + spell.Quoted(c.Out)}, next{"talk to it", "molt generate " + spell.Quoted(c.Out)})
	return nil
}
