package local

import (
	"molt/engine"
	"molt/numeric/model"
)

// Gradient, SetWeight and Refresh reach into a learner, for finite differences. An adapter is probed by its factors.
func (l *Learner) Gradient(tensor string, index int) float64 {
	if l.held.adapt != nil && tensor != headName {
		l.held.adapt.project(l.pool)
		for i, f := range l.held.adapt.factors() {
			if f.Name == tensor {
				return float64(l.held.adapt.gradients()[i][index])
			}
		}
	}
	return float64(named(l.grads.Params(), tensor).Data[index])
}

func (l *Learner) SetWeight(tensor string, index int, value float32) {
	if l.held.adapt != nil && tensor != headName {
		for _, f := range l.held.adapt.factors() {
			if f.Name == tensor {
				f.Data[index] = value
				return
			}
		}
	}
	named(l.held.Model.Params(), tensor).Data[index] = value
}

func named(params []model.Param, name string) model.Param {
	for _, p := range params {
		if p.Name == name {
			return p
		}
	}
	panic("no tensor " + name)
}

// Refresh makes weights that were set the ones that Forward uses.
func (l *Learner) Refresh() { l.moved() }

// Fingerprint is how weights are fingerprinted.
func Fingerprint(w engine.Weights) string { return printOf(w) }
