package local

// Gradient, SetWeight and Refresh reach into a learner, for finite differences.
func (l *Learner) Gradient(tensor string, index int) float64 {
	for _, p := range l.grads.Params() {
		if p.Name == tensor {
			return float64(p.Data[index])
		}
	}
	panic("no tensor " + tensor)
}

func (l *Learner) SetWeight(tensor string, index int, value float32) {
	for _, p := range l.model.Params() {
		if p.Name == tensor {
			p.Data[index] = value
			return
		}
	}
	panic("no tensor " + tensor)
}

// Refresh makes weights that were set the ones that Forward uses.
func (l *Learner) Refresh() { l.model.Refresh(l.pool) }

// Fingerprint is how weights are fingerprinted.
var Fingerprint = fingerprint
