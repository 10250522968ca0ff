package cli

import (
	"fmt"

	"molt/metrics"
	"molt/run/machine"
)

// versionCmd is `molt version`.
type versionCmd struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

func (c *versionCmd) Run(a *app) error {
	b := machine.Build()
	if c.JSON {
		return a.dataJSON(struct {
			metrics.Build
			Epoch int `json:"numeric_epoch"` // programs of one epoch compute the same bits
		}{b, machine.NumericEpoch})
	}
	fmt.Fprintf(a.stdout, "molt %s (%s, kernels %s, numeric epoch %d)\n", b.Molt, b.Go, machine.Kernels(), machine.NumericEpoch)
	return nil
}
