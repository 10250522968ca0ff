package cli

import (
	"fmt"

	"molt/run/machine"
)

// versionCmd is `molt version`.
type versionCmd struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

func (c *versionCmd) Run(a *app) error {
	b := machine.Build()
	if c.JSON {
		return a.dataJSON(b)
	}
	fmt.Fprintf(a.stdout, "molt %s (%s, kernels %s)\n", b.Molt, b.Go, machine.Kernels())
	return nil
}
