// Which matrices an adapter changes, in the words of PEFT's target_modules.

package weights

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Projections are the parts of a layer that an adapter may change, as PEFT's target_modules name them. The last two are
// those of models that store queries, keys and values, or gate and up, as one matrix.
var Projections = []string{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "qkv_proj", "gate_up_proj"}

// AllLinear is PEFT's word for all of them.
const AllLinear = "all-linear"

// Targets lists the matrices, without .weight, that target_modules choose among tensors of a model. A target is
// all-linear, a projection, or the end of a path such as layers.3.mlp.up_proj. One that chooses nothing is an error.
func Targets(tensors []Spec, modules []string) ([]string, error) {
	used := map[string]bool{}
	var chosen []string
	for _, s := range tensors {
		name, ok := projection(s)
		if !ok {
			continue
		}
		picked := false
		for _, m := range modules {
			if m == AllLinear || name == m || strings.HasSuffix(name, "."+m) {
				used[m], picked = true, true
			}
		}
		if picked {
			chosen = append(chosen, name)
		}
	}
	for _, m := range modules {
		if !used[m] {
			return nil, fmt.Errorf("%q is no projection of the model; there are %s, and %s for all", m, strings.Join(Projections, ", "), AllLinear)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no projection is named")
	}
	return chosen, nil
}

// projection is the name of a matrix that may have an adapter, without .weight.
func projection(s Spec) (string, bool) {
	name, ok := strings.CutSuffix(s.Name, ".weight")
	return name, ok && slices.Contains(Projections, name[strings.LastIndexByte(name, '.')+1:])
}

// Modules are the target_modules that choose what the adapter changes among a model's tensors: the projections when all
// their layers are adapted, the whole names otherwise.
func (a Adapter) Modules(tensors []Spec) []string { return modules(tensors, a.Adapted()) }

func modules(tensors []Spec, adapted []string) []string {
	have := map[string]bool{}
	for _, name := range adapted {
		have[name] = true
	}
	short := map[string]bool{}
	for _, name := range adapted {
		short[name[strings.LastIndexByte(name, '.')+1:]] = true
	}
	list := slices.Sorted(maps.Keys(short))
	if all, err := Targets(tensors, list); err == nil && len(all) == len(have) {
		return list
	}
	return slices.Sorted(maps.Keys(have))
}
