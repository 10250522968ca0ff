// Checkpoints of a learner: weights, the optimizer's state, the version, and the caller's state, as one checkpoint of
// package weights: verified byte for byte, there wholly or not at all.

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"molt/traj"
	"molt/weights"
)

// progress is the JSON of a checkpoint: ours, and the caller's, unread.
type progress struct {
	Version traj.Version    `json:"version"`
	Parent  traj.Version    `json:"parent"`
	Steps   int             `json:"optimizer_steps"`
	State   json.RawMessage `json:"state"` // null for none
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
	text := fmt.Appendf(nil, `{"version":%d,"parent":%d,"optimizer_steps":%d,"state":%s}`, l.version, l.parent, l.optimizer.Steps, state)
	c := weights.Checkpoint{Step: int64(l.version), Tensors: l.stored(), State: text}
	_, err := weights.WriteCheckpoint(filepath.Dir(dir), filepath.Base(dir), c)
	return err
}

// stored lists the tensors of a checkpoint. Their data is the learner's own.
func (l *Learner) stored() []weights.Tensor {
	var all []weights.Tensor
	for _, p := range l.model.Params() {
		all = append(all, weights.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Data})
	}
	for _, t := range l.optimizer.State() {
		all = append(all, weights.Tensor(t))
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
	mine := l.stored()
	read, err := readExactly(saved, mine)
	if err != nil {
		return p, err
	}
	for i, data := range read {
		copy(mine[i].Data, data)
	}
	l.model.Refresh(l.pool)
	l.grads.Zero()
	l.version, l.parent, l.optimizer.Steps, l.print = p.Version, p.Parent, p.Steps, ""
	return p, nil
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
