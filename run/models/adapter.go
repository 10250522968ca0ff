// Adapters on a model: put on, merged, written, as PEFT folders.

package models

import (
	"fmt"
	"path/filepath"
	"strings"

	"molt/engine"
	"molt/engine/local"
	"molt/internal/spell"
	"molt/run/problem"
	"molt/weights"
)

const adapterConfig = "adapter_config.json"

// Adapt puts the adapter of a PEFT folder on the model; "" puts none.
func (m *Model) Adapt(path string) error {
	if path == "" {
		return nil
	}
	a, err := weights.ReadAdapter(path, m.Config.Tensors())
	if err != nil {
		return &problem.Problem{Code: problem.Model, What: err.Error(), Fix: "mend the folder, or choose another adapter", Err: err}
	}
	with, err := local.Adapt(m.Weights, a)
	if err != nil {
		return &problem.Problem{Code: problem.Model, Where: path, What: err.Error(), Fix: "name the model that it was trained on, or another adapter", Err: err}
	}
	m.Weights, m.Adapter, m.Dropout, m.Steps = with, path, a.Dropout, a.Step
	return nil
}

// Merge makes the adapter a part of the weights.
func (m *Model) Merge() { m.Weights = local.Merge(m.Weights) }

// ExportAdapter writes the adapter of weights over this model as a PEFT folder.
func (m *Model) ExportAdapter(dir string, w engine.Weights) error {
	a := local.PEFT(w)
	a.Model = m.Path
	if _, err := weights.WriteAdapter(dir, a, m.Config.Tensors()); err != nil {
		return &problem.Problem{Code: problem.Resource, Where: dir, What: "cannot write the adapter", Why: err.Error(), Fix: "make room or choose another folder; the same command resumes", Err: err}
	}
	return nil
}

// MergeAdapter writes a model with an adapter as one model folder.
func MergeAdapter(base, adapter, out string) (*Info, error) {
	if err := (InitConfig{Out: out}).empty(); err != nil {
		return nil, err
	}
	m, err := Open(base)
	if err != nil {
		return nil, err
	}
	if err := m.Adapt(adapter); err != nil {
		return nil, err
	}
	m.Merge()
	if err := makeAround(out); err != nil {
		return nil, err
	}
	if err := m.write(out, m.Weights, m.Steps, weights.Form{}); err != nil {
		return nil, err
	}
	return Describe(out, "")
}

// Adapter describes the adapter on a model.
type Adapter struct {
	Path       string   `json:"path"`
	Rank       int      `json:"rank"`
	Alpha      float64  `json:"alpha"`
	Scale      float64  `json:"scale"` // of the update: alpha by rank, or by its root
	Modules    []string `json:"target_modules"`
	Matrices   int      `json:"matrices"`
	Parameters int64    `json:"parameters"`
}

func (m *Model) describeAdapter() *Adapter {
	w := m.Weights.Adapter
	if w == nil {
		return nil
	}
	peft := local.PEFT(m.Weights)
	a := &Adapter{Path: m.Adapter, Rank: w.Rank, Alpha: w.Alpha, Scale: w.Scale(), Modules: peft.Modules(m.Config.Tensors()), Matrices: len(peft.Adapted())}
	for _, t := range w.Tensors {
		a.Parameters += int64(len(t.Data))
	}
	return a
}

// String shows the adapter for people.
func (a *Adapter) String() string {
	return fmt.Sprintf("%s, rank %d, scale %g, on %d matrices (%s), %s parameters", spell.Quoted(a.Path), a.Rank, a.Scale, a.Matrices, strings.Join(a.Modules, ", "), spell.Thousands(a.Parameters))
}

// pointToBase recognises an adapter's folder, which holds no model.
func pointToBase(path string) error {
	if path == "" || exists(filepath.Join(path, "config.json")) || !exists(filepath.Join(path, adapterConfig)) {
		return nil
	}
	return &problem.Problem{
		Code: problem.Model, Where: path, What: "this is an adapter, which is nothing without the model that it was trained on",
		Fix: "name that model, and this with --adapter (--model.adapter in settings); or make one model of both: molt model merge BASE " + spell.Quoted(path) + " OUT",
	}
}
