package local

import (
	"slices"

	"molt/engine"
	"molt/numeric/model"
)

// AddValueHead makes a critic of a policy: the same decoder, with a value head of zeros, so that it foresees nothing until
// it has learned. The tensors' data is shared with w.
func AddValueHead(shape model.Config, w engine.Weights) (model.Config, engine.Weights) {
	shape.ValueHead = true
	layout := model.Layout(shape)
	head := layout[len(layout)-1]
	head.Data = make([]float32, shape.Dim)
	w.Tensors = append(slices.Clone(w.Tensors), tensors([]model.Param{head})...)
	w.Fingerprint = fingerprint(w.Tensors)
	return shape, w
}
