// Checkpoints of a learner: what it trains (weights, or an adapter with its base's fingerprint), the optimizers' state, the
// version, and the caller's state, as one checkpoint of package weights: verified byte for byte, there wholly or not at all.

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"molt/numeric/optim"
	"molt/traj"
	"molt/weights"
)

// progress is the JSON of a checkpoint: ours, and the caller's, unread.
type progress struct {
	Version traj.Version    `json:"version"`
	Parent  traj.Version    `json:"parent"`
	Steps   int             `json:"optimizer_steps"`
	Head    int             `json:"head_steps"` // of a value head's own optimizer
	Base    string          `json:"base"`       // fingerprint of what the adapter is over; "" without one
	How     string          `json:"adapter"`    // rank and scale
	State   json.RawMessage `json:"state"`      // null for none
}

// Save implements engine.Learner. dir must not exist, unless it is a damaged checkpoint.
func (l *Learner) Save(ctx context.Context, dir string, state []byte) error {
	if err := l.ready(ctx, "save"); err != nil {
		return err
	}
	if len(state) == 0 {
		state = []byte("null")
	}
	if !json.Valid(state) {
		return fmt.Errorf("local: save %s: the caller's state is not JSON", dir)
	}
	// Marshal would reformat the caller's state.
	text := fmt.Appendf(nil, `{"version":%d,"parent":%d,"optimizer_steps":%d,`, l.version, l.parent, l.optimizer.Steps)
	if l.head != nil {
		text = fmt.Appendf(text, `"head_steps":%d,`, l.head.Steps)
	}
	if l.held.adapt != nil {
		text = fmt.Appendf(text, `"base":%q,"adapter":%q,`, l.held.base, l.held.adapt)
	}
	text = fmt.Appendf(text, `"state":%s}`, state)
	c := weights.Checkpoint{Step: int64(l.version), Tensors: l.stored(), State: text}
	_, err := weights.WriteCheckpoint(filepath.Dir(dir), filepath.Base(dir), c)
	return err
}

// stored lists the tensors of a checkpoint. Their data is the learner's own.
func (l *Learner) stored() []weights.Tensor {
	var all []weights.Tensor
	for _, p := range l.held.Model.Params() {
		if l.held.adapt == nil || l.head != nil && p.Name == headName {
			all = append(all, weights.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Data})
		}
	}
	if l.held.adapt != nil {
		for _, t := range l.held.adapt.factors() {
			all = append(all, weights.Tensor(t))
		}
	}
	for _, o := range []*optim.Optimizer{l.optimizer, l.head} {
		if o == nil {
			continue
		}
		for _, t := range o.State() {
			all = append(all, weights.Tensor(t))
		}
	}
	return all
}

// Load implements engine.Learner.
func (l *Learner) Load(ctx context.Context, dir string) (state []byte, err error) {
	if err := l.ready(ctx, "load"); err != nil {
		return nil, err
	}
	saved, err := weights.OpenCheckpoint(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, saved.Close()) }()
	p, err := l.restore(saved)
	if err != nil {
		return nil, fmt.Errorf("local: load %s: %w", dir, err)
	}
	if string(p.State) == "null" {
		return nil, nil
	}
	return p.State, nil
}

// restore reads everything before it changes anything.
func (l *Learner) restore(saved *weights.Saved) (progress, error) {
	var p progress
	if err := json.Unmarshal(saved.State, &p); err != nil {
		return p, err
	}
	if p.Parent < 0 || p.Parent > p.Version || p.Steps < 0 {
		return p, fmt.Errorf("version %d from %d after %d optimizer steps is not possible", p.Version, p.Parent, p.Steps)
	}
	if err := l.continues(p); err != nil {
		return p, err
	}
	mine := l.stored()
	read, err := readExactly(saved, mine)
	if err != nil {
		return p, err
	}
	for i, data := range read {
		copy(mine[i].Data, data)
	}
	l.moved()
	l.grads.Zero()
	l.version, l.parent, l.optimizer.Steps = p.Version, p.Parent, p.Steps
	if l.head != nil {
		l.head.Steps = p.Head
	}
	return p, nil
}

// continues reports whether a checkpoint is of training like this learner's.
func (l *Learner) continues(p progress) error {
	switch a := l.held.adapt; {
	case p.Head < 0:
		return fmt.Errorf("%d steps of the value head are not possible", p.Head)
	case a == nil && p.Base != "":
		return errors.New("the checkpoint is of an adapter, and this run trains the weights themselves")
	case a != nil && p.Base == "":
		return errors.New("the checkpoint is of whole weights, and this run trains an adapter")
	case a != nil && p.Base != l.held.base:
		return fmt.Errorf("the adapter was trained over weights with fingerprint %.12s…, and the model has %.12s…", p.Base, l.held.base)
	case a != nil && p.How != a.String():
		return fmt.Errorf("the checkpoint's adapter has %s, and this run trains one with %s", p.How, a)
	}
	return nil
}

// readExactly reads a file that must hold the tensors of want, weights before the optimizer's, and no others.
func readExactly(saved *weights.Saved, want []weights.Tensor) ([][]float32, error) {
	known := map[string]bool{}
	read := make([][]float32, len(want))
	for i, t := range want {
		known[t.Name] = true
		shape, ok := saved.Shape(t.Name)
		if !ok {
			return nil, fmt.Errorf("tensor %q is missing%s", t.Name, hint(t.Name))
		}
		if !slices.Equal(shape, t.Shape) {
			return nil, fmt.Errorf("tensor %q has shape %v; the model wants %v", t.Name, shape, t.Shape)
		}
		read[i] = make([]float32, len(t.Data))
		if err := saved.Read(t.Name, read[i]); err != nil {
			return nil, err
		}
	}
	var strange string
	for _, name := range saved.Names() {
		if !known[name] && (strange == "" || hint(strange) != "") {
			strange = name
		}
	}
	if strange != "" {
		return nil, fmt.Errorf("tensor %q has no place here%s", strange, hint(strange))
	}
	return read, nil
}

// hint says why a tensor of the optimizer's may not fit.
func hint(name string) string {
	if strings.HasPrefix(name, "adam.") || strings.HasPrefix(name, "muon.") {
		return ": the checkpoint comes from another optimizer, or from one that froze other parameters"
	}
	return ""
}
