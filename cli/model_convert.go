package cli

import (
	"fmt"
	"strconv"
	"strings"

	"molt/internal/spell"
	"molt/run/models"
)

// modelConvertCmd is `molt model convert`.
type modelConvertCmd struct {
	Model string `arg:"" help:"Hugging Face model folder."`
	Out   string `arg:"" help:"Folder to write: new or empty."`

	DType    string `name:"dtype" placeholder:"TYPE" help:"Of the written weights: float32, bfloat16 or float16, also f32, bf16, f16 (default that of the model)."`
	MaxShard size   `name:"max-shard-size" default:"50GB" placeholder:"SIZE" help:"Most weights in one file, such as 2GB or 500MB; 0 writes one file (default ${default})."`
	JSON     bool   `name:"json" help:"Print what was written as one JSON object."`
}

// Help says what is lost.
func (*modelConvertCmd) Help() string {
	return `Everything else of the model stays as it is. Widening is exact; narrowing rounds every weight to the nearest value, so the written model's log-probs
differ from the other's: it is another model to a run. float16 has no room for values above 65504, which are refused.

Example:

  molt model convert runs/rl/best models/mine --dtype bf16 --max-shard-size 2GB`
}

func (c *modelConvertCmd) Run(a *app) error {
	made, err := models.Convert(models.ConvertConfig{Model: c.Model, Out: c.Out, DType: c.DType, MaxShard: int64(c.MaxShard)})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.dataJSON(made)
	}
	if err := a.data(legible(made.String())); err != nil {
		return err
	}
	a.next(next{"look at it", "molt model info " + spell.Quoted(c.Out)})
	return nil
}

// size is a number of bytes, written as people write it.
type size int64

// UnmarshalText reads 2GB, 500MB or 0.
func (s *size) UnmarshalText(text []byte) error {
	number, unit := string(text), int64(0)
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}} {
		if n := len(number) - len(u.name); n > 0 && strings.EqualFold(number[n:], u.name) {
			number, unit = number[:n], u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 31)
	if err != nil || unit == 0 && n != 0 {
		return fmt.Errorf("%q is not a size; write it like 2GB or 500MB", text)
	}
	*s = size(int64(n) * unit)
	return nil
}
