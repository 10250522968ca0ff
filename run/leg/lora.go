// Adapters in a run: the one that training starts from, and what the run leaves behind.

package leg

import (
	"context"
	"fmt"
	"os"

	"molt/engine"
	"molt/engine/local"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/weights"
)

// Adapt puts the adapter that training starts from on the model. Where the weights themselves are trained it becomes a part
// of them. section is "actor." or "model.".
func Adapt(m *models.Model, path, section string, c recipe.LoRAConfig) error {
	if err := m.Adapt(path); err != nil {
		return err
	}
	if c.Rank == 0 {
		m.Merge()
		return nil
	}
	if a := m.Weights.Adapter; a != nil && a.Rank != c.Rank {
		return &problem.Problem{
			Code: problem.Combined, Where: section + "lora.rank", What: fmt.Sprintf("it is %d and the adapter in model.adapter has rank %d", c.Rank, a.Rank),
			Fix: fmt.Sprintf("set it to %d, or begin without that adapter", a.Rank),
		}
	}
	if m.Dropout > 0 {
		return &problem.Problem{
			Code: problem.Combined, Where: "model.adapter", What: fmt.Sprintf("the adapter was trained with a dropout of %g, and training goes on without", m.Dropout),
			Fix: "set lora_dropout to 0 in its adapter_config.json if that is meant",
		}
	}
	return nil
}

// LoRA is how the engine trains an adapter over the model. What the settings leave open comes from the adapter that
// training starts from, where there is one.
func LoRA(c recipe.LoRAConfig, m *models.Model, seed uint64) local.LoRA {
	if c.Rank == 0 {
		return local.LoRA{}
	}
	l := local.LoRA{Rank: c.Rank, Alpha: c.Alpha, RSLoRA: c.RSLoRA, Targets: c.Targets, Seed: seed}
	if a := m.Weights.Adapter; a != nil {
		l.RSLoRA = l.RSLoRA || a.RSLoRA
		if l.Alpha == 0 {
			l.Alpha = a.Alpha
		}
		if len(l.Targets) == 0 {
			l.Targets = local.PEFT(m.Weights).Adapted()
		}
	}
	if l.Alpha == 0 {
		l.Alpha = 2 * float64(l.Rank)
	}
	if len(l.Targets) == 0 {
		l.Targets = []string{weights.AllLinear}
	}
	return l
}

// Exports says what a folder that ExportTo writes is, and what is lost in it. dtype is ckpt.dtype.
func Exports(c recipe.LoRAConfig, dtype string) string {
	switch {
	case c.ExportsAdapter():
		return "PEFT folder"
	case dtype == "f32":
		return "Hugging Face folder"
	}
	return "Hugging Face folder, rounded to " + dtype + ": not bit for bit the weights that were trained and measured; checkpoints stay f32"
}

// BaseOf is the model without which what ExportTo writes is nothing; "" where it is a model.
func BaseOf(m *models.Model, c recipe.LoRAConfig) string {
	if c.ExportsAdapter() {
		return m.Path
	}
	return ""
}

// Holds is what people call it.
func Holds(base string) string {
	if base != "" {
		return "adapter"
	}
	return "model"
}

// Form is how ckpt.dtype and ckpt.max_shard_size, in gigabytes, have models written.
func Form(dtype string, maxShard float64) models.Form {
	return models.Form{DType: dtype, MaxShard: int64(maxShard * 1e9)}
}

// ExportTo writes the learner's weights to a folder of the run, in place of what a leg left there that was killed
// afterwards: one model in the given form, or the adapter alone.
func ExportTo(ctx context.Context, dir string, m *models.Model, l engine.Learner, c recipe.LoRAConfig, form models.Form) error {
	if err := os.RemoveAll(dir); err != nil {
		return &problem.Problem{Code: problem.Resource, Where: dir, What: "cannot replace", Why: problem.Reason(err), Fix: "check the folder's permissions", Err: err}
	}
	w, err := l.Weights(ctx)
	if err != nil {
		return err
	}
	if c.ExportsAdapter() {
		return m.ExportAdapter(dir, w)
	}
	return m.Export(dir, w, form)
}
