package cli

import (
	"context"
	"fmt"

	"molt/run/bench"
	"molt/run/problem"
)

// benchCmd is `molt bench`.
type benchCmd struct {
	Name    string `arg:"" help:"gemm (matrix products), generate (sampling), train (optimizer steps) or algo (advantages, correction, loss and statistics)."`
	Shape   string `enum:",quickstart,28m" default:"" placeholder:"NAME" help:"quickstart (0.45M parameters) or 28m (a 28M Llama); both without it."`
	Threads int    `default:"0" placeholder:"N" help:"Worker threads, of the peer too; 0 takes all cores (default ${default})."`
	Rounds  int    `default:"5" placeholder:"N" help:"Runs of each, of which the median is shown (default ${default})."`
	Peer    string `placeholder:"PYTHON" help:"Measure PyTorch beside it, in the same rounds, with this Python."`
	JSON    bool   `name:"json" help:"Print one JSON object."`
}

// Help says what is compared.
func (*benchCmd) Help() string {
	return `Examples:

  molt bench train
  molt bench generate --shape quickstart --peer python3
  molt bench algo --peer python3

A round runs ours, then the peer's, so that what else the machine does meets both. scripts/bench/torch_peer.py is what the
peer runs: the same shapes and numbers of tokens, eager PyTorch with fused attention and AdamW. Of algo, both results
are compared figure by figure.`
}

func (c *benchCmd) Run(ctx context.Context, a *app) error {
	cfg := bench.Config{Name: c.Name, Shape: c.Shape, Threads: c.Threads, Rounds: c.Rounds, Peer: c.Peer}
	if c.Rounds == 0 {
		return &problem.Problem{Code: problem.Setting, What: "--rounds is 0", Fix: "give it 1 to 1000"}
	}
	result, err := bench.Run(ctx, cfg, func(what string) { fmt.Fprintf(a.stderr, "measuring %s\n", what) })
	if err != nil {
		return err
	}
	if c.JSON {
		return a.dataJSON(result)
	}
	return a.data(legible(fmt.Sprint(result)))
}
