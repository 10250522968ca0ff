// Settings of adapters, for reinforcement learning and supervised fine-tuning alike.

package recipe

import (
	"fmt"
	"strings"
)

// LoRAConfig trains an adapter over frozen weights (LoRA, arXiv 2106.09685) in their place.
type LoRAConfig struct {
	Rank    int      `yaml:"rank" alias:"actor.lora_dim,model.lora_dim" help:"rank of the adapter (LoRA) that is trained over the frozen weights; 0 trains the weights themselves" range:"[0,65536]"`
	Alpha   float64  `yaml:"alpha" alias:"actor.lora_alpha,model.lora_alpha" help:"the update is scaled by alpha/rank; 0 takes twice the rank, or what model.adapter says" range:">=0"`
	RSLoRA  bool     `yaml:"rslora" help:"scale by alpha over the root of the rank, so that high ranks learn as fast (arXiv 2312.03732)"`
	Targets []string `yaml:"target_modules" alias:"actor.target_modules,model.target_modules" help:"projections to adapt, such as q_proj,v_proj or layers.3.mlp.up_proj; none takes all-linear, or what model.adapter says"`
	Dropout float64  `yaml:"dropout" help:"always 0: a pass that drops inputs has other log-probs than the generator reported" range:"[0,1)"`
	Export  string   `yaml:"export" help:"what the run's model folders hold: merged (one model), or adapter (a PEFT folder, to be used with its base)" enum:"merged,adapter"`
}

// loRA trains no adapter.
func loRA() LoRAConfig { return LoRAConfig{Export: "merged"} }

// ExportsAdapter reports whether the run leaves an adapter alone, which is written as it was trained.
func (c LoRAConfig) ExportsAdapter() bool { return c.Export == "adapter" }

// Unread refuses what has no effect or no meaning beside the optimizer o; section is "actor." or "model.".
func (c LoRAConfig) Unread(section string, o OptimConfig, refuse func(setting, why, fix string)) {
	usual := loRA()
	before := Settings(&usual)
	for i, s := range Settings(&c) {
		if c.Rank == 0 && s.Text() != before[i].Text() {
			refuse(section+"lora."+s.Name, "it has no effect: nothing but "+section+"lora.rank above 0 reads it", "choose that, or leave it out")
		}
	}
	if c.Rank == 0 {
		return
	}
	if c.Dropout != 0 {
		refuse(section+"lora.dropout", fmt.Sprintf("%g would let every pass see other weights than those that sampled", c.Dropout), "leave it out")
	}
	if o.Optim == "muon" {
		refuse(section+"optim", "muon makes the step of a matrix orthogonal, and an adapter consists of factors that are no such matrix", "choose adam, or leave "+section+"lora.rank out")
	}
	for _, pattern := range o.Freeze {
		if !strings.Contains(pattern, "lora") && pattern != "*" {
			refuse(section+"freeze_params", fmt.Sprintf("%q has no effect: everything but the adapter is frozen", pattern), "leave it out, or freeze factors, such as *.lora_A.weight")
		}
	}
}
