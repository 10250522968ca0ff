// Models in the format of llama.cpp.

package models

import (
	"fmt"
	"os"
	"path/filepath"

	"molt/internal/spell"
	"molt/run/problem"
	"molt/tokenizer"
	"molt/weights"
	"molt/weights/gguf"
)

// ImportConfig says what to import.
type ImportConfig struct {
	File     string                // GGUF
	Out      string                // folder to write: new or empty
	DType    string                // of the written weights, such as float32
	MaxShard int64                 // bytes of weights in one file; 0 writes one
	Progress func(done, total int) // tensors; may be nil
}

// Imported is what came of it.
type Imported struct {
	gguf.Summary
	Out     string `json:"out"`
	Problem string `json:"problem,omitempty"` // why the model cannot be used here although its weights were imported; "" when it can
}

// Import turns a GGUF file into a Hugging Face folder, and tries the tokenizer in it.
func Import(c ImportConfig) (Imported, error) {
	dtype, err := weights.ParseDType(c.DType)
	if err != nil {
		return Imported{}, &problem.Problem{Code: problem.Usage, Where: "--dtype", What: err.Error(), Fix: "write float32, bfloat16 or float16"}
	}
	if err := (InitConfig{Out: c.Out}).empty(); err != nil {
		return Imported{}, err
	}
	if info, err := os.Stat(c.File); err != nil || info.IsDir() {
		return Imported{}, noFile(c.File, err)
	}
	if err := makeAround(c.Out); err != nil {
		return Imported{}, err
	}
	sum, err := gguf.Import(c.File, c.Out, gguf.Options{DType: dtype, MaxShard: c.MaxShard, Progress: c.Progress})
	if err != nil {
		p := &problem.Problem{Code: problem.Model, What: err.Error(), Fix: "choose another file, or one with the same model in another quantization", Err: err}
		if problem.Lacking(err) {
			p.Code, p.Fix = problem.Resource, "make room, then run the same command"
		}
		return Imported{}, p
	}
	out := Imported{Summary: sum, Out: c.Out}
	data, err := ReadTokenizer(filepath.Join(c.Out, "tokenizer.json"))
	if err == nil {
		_, err = tokenizer.New(data)
	}
	if err != nil {
		out.Problem = err.Error()
	}
	return out, nil
}

// noFile says what is in the place of a GGUF file. err is nil for a folder.
func noFile(path string, err error) error {
	if err != nil {
		return &problem.Problem{Code: problem.Model, Where: path, What: "cannot read the GGUF file", Why: problem.Reason(err), Fix: "check the path", Err: err}
	}
	p := &problem.Problem{Code: problem.Model, Where: path, What: "this is a folder, not a GGUF file", Fix: "name the file"}
	if found, _ := filepath.Glob(filepath.Join(globEscaped(path), "*.gguf")); len(found) > 0 {
		p.Fix = "name a file in it, such as " + spell.Quoted(found[0])
	} else if exists(filepath.Join(path, "config.json")) {
		p.Fix = "it is a Hugging Face model already, and can be used as it is"
	}
	return p
}

func (i Imported) String() string {
	out := fmt.Sprintf("imported %s: %s, %s parameters in %d tensors\ntokenizer %s", i.Out, i.Architecture, spell.Thousands(int64(i.Parameters)), i.Tensors, i.Tokenizer)
	if i.License != "" {
		out += "\nlicense   " + i.License
	}
	if i.Problem != "" {
		out += "\nbut it cannot be used: " + i.Problem
	}
	return out + "\n"
}
