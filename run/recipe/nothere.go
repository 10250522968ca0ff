// Flags of the original Molt whose feature this program does not have: they are refused with the reason, not as typos.

package recipe

import "strings"

// notHere maps a flag, or a section with its dot, to the reason.
var notHere = []struct{ name, why string }{
	{"fsdp.", "training on several GPUs through PyTorch FSDP2 is not built yet"},
	{"vllm.", "generating with vLLM servers is not built yet"},
	{"actor.muon.no_nesterov", "see actor.muon.nesterov: false"},
	{"critic.muon.no_nesterov", "see critic.muon.nesterov: false"},
	{"model.muon.no_nesterov", "see model.muon.nesterov: false"},
	{"muon.", "see model.muon, in molt sft"},
	{"actor.aux_loss_coef", "mixture-of-experts models are not built yet"},
	{"actor.gradient_checkpoint", "the embedded engine keeps every activation of a micro-batch; lower train.max_tokens_per_micro_batch instead"},
	{"model.gradient_checkpoint", "the embedded engine keeps every activation of a micro-batch; lower train.max_tokens_per_micro_batch instead"},
	{"actor.freeze_visual_encoder", "images are not built yet; see actor.freeze_params"},
	{"model.freeze_visual_encoder", "images are not built yet; see model.freeze_params"},
	{"actor.freeze_moe_router", "mixture-of-experts models are not built yet; see actor.freeze_params"},
	{"critic.freeze_moe_router", "mixture-of-experts models are not built yet; see critic.freeze_params"},
	{"actor.lr_warmup_ratio", "see actor.lr_warmup_steps"},
	{"critic.lr_warmup_ratio", "see critic.lr_warmup_steps"},
	{"actor.num_", "models run inside this process"},
	{"ref.num_", "models run inside this process"},
	{"algo.advantage.is_correction_gating", "the band is on the ratio; see algo.advantage.is_correction_threshold"},
	{"reward.stop_properly_penalty_coef", "see reward.length.shape: overlong grows a penalty before the limit"},
	{"train.force_on_policy", "leave train.batch_size at 0: one update for each batch"},
	{"data.image_key", "images are not built yet"},
	{"data.max_images_per_prompt", "images are not built yet"},
	{"data.apply_chat_template", "the chat template is always applied"},
	{"train.async_queue_size", "see train.mode: sync or one_step_ahead"},
	{"train.force_sync_mode", "see train.mode: sync is the default"},
	{"train.partial_rollout_enable", "weights never change under a running rollout; see train.mode"},
	{"train.routing_replay", "mixture-of-experts models are not built yet"},
	{"rollout.num_runners", "rollouts run inside this process; see engine.in_flight"},
	{"logger.wandb.", "there is no W&B sink; events.jsonl and TensorBoard files hold the same numbers"},
	{"logger.tensorboard_dir", "the files lie in the run folder; see logger.tensorboard"},
}

// NotHere gives the reason why a flag of the original does not exist here, or "".
func NotHere(name string) string {
	for _, n := range notHere {
		if name == n.name || strings.HasPrefix(name, n.name) {
			return n.why
		}
	}
	return ""
}
