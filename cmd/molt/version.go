package main

import (
	"fmt"

	"molt/run"
)

// versionCmd is `molt version`.
type versionCmd struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

func (c *versionCmd) Run(a *app) error {
	b := run.Build()
	if c.JSON {
		return a.dataJSON(b)
	}
	fmt.Fprintf(a.stdout, "molt %s (%s, kernels %s)\n", b.Molt, b.Go, run.Kernels())
	return nil
}
