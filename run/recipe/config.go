// Every setting of a run, with its name, default, unit and meaning. Names are those of the original Molt where the
// concept is the same, so that scripts carry over. The tags feed flags, recipe files, --dry-run and the documentation.

package recipe

// Config is the whole configuration of `molt rl`.
type Config struct {
	Model   ModelConfig   `yaml:"model"`
	Data    DataConfig    `yaml:"data"`
	Agent   AgentConfig   `yaml:"agent"`
	Rollout RolloutConfig `yaml:"rollout"`
	Algo    AlgoConfig    `yaml:"algo"`
	Reward  RewardConfig  `yaml:"reward"`
	Actor   ActorConfig   `yaml:"actor"`
	Ref     RefConfig     `yaml:"ref"`
	Critic  CriticConfig  `yaml:"critic"`
	Train   TrainConfig   `yaml:"train"`
	Eval    EvalConfig    `yaml:"eval"`
	Ckpt    CkptConfig    `yaml:"ckpt"`
	Logger  LoggerConfig  `yaml:"logger"`
	Engine  EngineConfig  `yaml:"engine"`
}

// ModelConfig says which weights training starts from.
type ModelConfig struct {
	Path    string `yaml:"model_name_or_path" alias:"actor.model_name_or_path" help:"Hugging Face model folder to start from (required)"`
	Adapter string `yaml:"adapter" help:"PEFT folder of an adapter that is put on the model: trained on with actor.lora.rank, a part of the weights without"`
}

// DataConfig says which prompts are tried, and how a row is read.
type DataConfig struct {
	Prompts    []string  `yaml:"prompt_dataset" help:"JSONL files of prompts, comma separated"`
	Probs      []float64 `yaml:"prompt_probs" help:"mixing weights of the files, comma separated; none means one after the other" range:">0"`
	MaxSamples int       `yaml:"max_samples" help:"use at most so many rows of each file; 0 uses all" range:">=0"`
	InputKey   string    `yaml:"input_key" help:"key of the prompt: a string, or a list of chat messages"`
	LabelKey   string    `yaml:"label_key" help:"key of what the reward compares with; empty takes label where all rows have it"`
	ToolsKey   string    `yaml:"tools_key" help:"key of the tool schemas; empty for none"`
	IDKey      string    `yaml:"id_key" help:"key of the prompt's id; empty numbers the rows"`
}

// RolloutConfig says how rollouts are made.
type RolloutConfig struct {
	BatchSize    int     `yaml:"batch_size" help:"prompt groups for each training batch" unit:"groups" range:">=1"`
	Samples      int     `yaml:"n_samples_per_prompt" help:"rollouts of each prompt: the size of a group" unit:"rollouts" range:">=1"`
	MaxNewTokens int     `yaml:"max_new_tokens" help:"most tokens sampled in one turn" unit:"tokens" range:">=1"`
	MaxLen       int     `yaml:"max_len" alias:"data.max_len" help:"most tokens of a rollout, prompt and replies together" unit:"tokens" range:">=2"`
	Temperature  float64 `yaml:"temperature" help:"divides the logits before sampling" range:"[0.001,1000]"`
	TopP         float64 `yaml:"top_p" help:"keep the smallest set of tokens with this probability; 1 keeps all" range:"(0,1]"`
	TopK         int     `yaml:"top_k" help:"keep the k most likely tokens; 0 keeps all" range:">=0"`
	MinP         float64 `yaml:"min_p" help:"keep tokens with at least this share of the largest probability; 0 keeps all" range:"[0,1)"`
	Retries      int     `yaml:"retries" help:"further attempts of a rollout that failed through no fault of the policy" range:"[0,15]"`
}

// AlgoConfig says how rewards become gradients.
type AlgoConfig struct {
	Advantage AdvantageConfig `yaml:"advantage"`
	KL        KLConfig        `yaml:"kl"`
	Lag       LagConfig       `yaml:"lag"`
	MinGraded int             `yaml:"min_graded" help:"fewest graded rollouts with which a group trains" unit:"rollouts" range:">=1"`
	Filter    bool            `yaml:"dynamic_filtering_enable" help:"replace groups whose mean reward is not strictly inside the range (DAPO)"`
	Range     []float64       `yaml:"dynamic_filtering_range" help:"low,high of the mean reward of a group, both exclusive" len:"2"`
	Budget    int             `yaml:"dynamic_filtering_budget" help:"most groups left out of one batch, filtered or failed, before the run ends" unit:"groups" range:">=1"`
}

// AdvantageConfig picks the estimator and the correction for generators that lag or differ.
type AdvantageConfig struct {
	Estimator string    `yaml:"estimator" help:"grpo, dr_grpo, rloo, reinforce_baseline, reinforce (REINFORCE++), gae (PPO with a critic), pass_at_k (one success in k tries) or on_policy_distill (learns from a teacher)" enum:"grpo,dr_grpo,rloo,pass_at_k,reinforce_baseline,reinforce,reinforce++,gae,on_policy_distill"`
	Gamma     float64   `yaml:"gamma" help:"discount of rewards over tokens (reinforce, gae)" range:"[0,1]"`
	Lambda    float64   `yaml:"lam" help:"gae: 0 trusts the critic, 1 the rewards" range:"[0,1]"`
	Turns     bool      `yaml:"turns" help:"give each turn the reward it earned, and credit it with what follows"`
	TurnGamma float64   `yaml:"turn_gamma" help:"discount of rewards over turns" range:"[0,1]"`
	K         int       `yaml:"k" help:"pass_at_k: the tries of which one must succeed; 0 is not chosen" unit:"rollouts" range:">=0"`
	NoWhiten  bool      `yaml:"no_whiten" help:"do not normalise advantages over the batch (reinforce, reinforce_baseline, gae)"`
	Level     string    `yaml:"is_correction_level" help:"weight by exp(Old-Gen): off, token, geo or seq" enum:"off,none,token,geo,geometric,seq,sequence"`
	Mode      string    `yaml:"is_correction_mode" help:"out-of-band weights: mask, clip or trunc" enum:"mask,clip,trunc,truncate"`
	Threshold []float64 `yaml:"is_correction_threshold" help:"low,high of the band" len:"2"`
}

// LagConfig says how the age of a token changes its weight.
type LagConfig struct {
	Decay float64 `yaml:"decay" help:"a token weighs less by this factor with every optimizer step of age; 1 is off" range:"[0,1]"`
}

// KLConfig keeps the policy near a reference, or brings it to a teacher.
type KLConfig struct {
	Coef      float64 `yaml:"init_coef" help:"weight of the KL divergence to the reference, or of what a teacher says; 0 loads no reference" range:">=0"`
	UseLoss   bool    `yaml:"use_loss" help:"add KL to the loss instead of the reward"`
	Estimator string  `yaml:"estimator" help:"k1, k2, k3 or k3_unbiased" enum:"k1,k2,k3,k3_unbiased"`
	Target    float64 `yaml:"target" help:"adapt the weight to keep KL near this; 0 keeps it fixed" unit:"nats" range:">=0"`
	Horizon   int     `yaml:"horizon" help:"how slowly the weight adapts" unit:"rollouts" range:">=1"`
}

// RewardConfig shapes rewards before advantages.
type RewardConfig struct {
	ClipRange []float64    `yaml:"clip_range" help:"low,high of the reward of a rollout" len:"2"`
	Length    LengthConfig `yaml:"length"`
	Scale     float64      `yaml:"scale" help:"rewards are multiplied by it" range:">0"`
	Normalise string       `yaml:"normalise" help:"bring rewards to mean 0 and spread 1: off, group, batch or running (all of the run so far)" enum:"off,group,batch,running"`
	Shuffle   bool         `yaml:"shuffle" help:"control experiment: deal each batch's rewards out at random; nothing can be learned from them"`
}

// LengthConfig says how the length of a rollout, its action tokens, changes its reward.
type LengthConfig struct {
	Shape   string    `yaml:"shape" help:"off, overlong (a penalty before the limit), linear (shorter than the group is better) or cosine (by correctness and length)" enum:"off,overlong,linear,cosine"`
	Max     int       `yaml:"max" help:"overlong, cosine: the longest rollout that is wanted" unit:"tokens" range:">=0"`
	Buffer  int       `yaml:"buffer" alias:"reward.overlong_buffer_len" help:"overlong: over how many of the last tokens the penalty grows" unit:"tokens" range:">=0"`
	Factor  float64   `yaml:"factor" alias:"reward.overlong_penalty_factor" help:"overlong, linear: the largest change of a reward" range:">0"`
	Solved  float64   `yaml:"solved" help:"linear, cosine: a reward of at least this counts as correct"`
	Correct []float64 `yaml:"correct" help:"cosine: reward of a correct rollout of no length, and of the longest" len:"2"`
	Wrong   []float64 `yaml:"wrong" help:"cosine: reward of a wrong rollout of no length (and of any that is too long), and of the longest" len:"2"`
}

// ActorConfig is the policy's loss and optimizer.
type ActorConfig struct {
	Clip        []float64  `yaml:"eps_clip_low_high" help:"low,high of the ratio clip: 1-low to 1+high (ppo; gspo, whose ratios want about 0.0003)" len:"2"`
	DualClip    float64    `yaml:"dual_clip" help:"ppo: bound of the loss where the advantage is negative; 0 is off" range:">=0"`
	LossMode    string     `yaml:"loss_mode" help:"ppo (clipped), gspo (one ratio for each segment), cispo (clipped weight), sapo (a smooth gate) or pg (plain policy gradient)" enum:"ppo,gspo,cispo,sapo,pg,policy_gradient"`
	Ceiling     float64    `yaml:"cispo_ceiling" help:"cispo: the largest weight that a ratio may be" range:">=1"`
	Tau         []float64  `yaml:"sapo_tau" help:"sapo: how fast the gate closes for a good and for a bad token" len:"2"`
	Proximal    string     `yaml:"proximal" help:"what the ratio compares with: decoupled (the policy at the start of the step) or behavior (the one that sampled; needs the correction off)" enum:"decoupled,behavior,coupled"`
	Aggregation string     `yaml:"loss_agg_mode" help:"how tokens add up: token_mean, rollout_sum, rollout_mean (GRPO) or constant (Dr.GRPO)" enum:"token_mean,rollout_sum,rollout_mean,constant,token-mean,seq-mean-token-sum,seq-mean-token-mean,seq-mean-token-sum-norm"`
	MaxTokens   int        `yaml:"loss_max_tokens" help:"constant: the length that the sum over a rollout is divided by" unit:"tokens" range:">=0"`
	Entropy     float64    `yaml:"entropy_coef" help:"weight of the entropy bonus; 0 is off" range:">=0"`
	LoRA        LoRAConfig `yaml:"lora"`
	Freezing    int        `yaml:"freezing_steps" help:"batches from which the critic alone learns, before the policy begins to move" unit:"batches" range:">=0"`
	OptimConfig
}

// RefConfig says what the policy is compared with.
type RefConfig struct {
	Path string `yaml:"model_name_or_path" help:"model folder of a reference or teacher with the same tokenizer; empty takes the starting weights"`
}

// CriticConfig is the critic of the estimator gae.
type CriticConfig struct {
	Path      string  `yaml:"model_name_or_path" help:"model folder that the critic starts from, with the same tokenizer; empty takes the policy's"`
	Shared    bool    `yaml:"shared" help:"no model of its own: a value head on the policy, which learns in the policy's passes and steps by critic.adam; the value loss reaches the policy's weights by critic.value_coef"`
	Clip      float64 `yaml:"value_clip" help:"a value that moved further than this in the batch is pushed no further; 0 is off" range:">=0"`
	Coef      float64 `yaml:"value_coef" help:"weight of the value loss; where the critic is no part of the policy it matters for critic.max_norm alone" range:">0"`
	MaxEpochs int     `yaml:"max_epochs" help:"times the critic is trained on each batch; 0 takes train.max_epochs" range:">=0"`
	OptimConfig
}

// OptimConfig is how the parameters of a model step.
type OptimConfig struct {
	Optim       string     `yaml:"optim" help:"adam (AdamW), or muon: Muon for matrices, AdamW for embeddings, heads, norms and biases" enum:"adam,muon"`
	Adam        AdamConfig `yaml:"adam"`
	Muon        MuonConfig `yaml:"muon"`
	Freeze      []string   `yaml:"freeze_params" help:"patterns of the names of parameters that never change, such as model.embed_tokens.*,model.layers.[0-3].*"`
	LRScale     []string   `yaml:"lr_scale" help:"factors of learning rates by pattern, such as model.embed_tokens.*=0.1; the first pattern that matches counts"`
	Scheduler   string     `yaml:"lr_scheduler" help:"constant, linear, cosine or wsd (constant, and down at the end)" enum:"constant,linear,cosine,wsd"`
	WarmupSteps int        `yaml:"lr_warmup_steps" help:"optimizer steps of linear warm-up" unit:"steps" range:">=0"`
	DecayRatio  float64    `yaml:"lr_decay_ratio" help:"wsd: share of the optimizer steps over which the learning rate goes down" range:"(0,1]"`
	MinLRRatio  float64    `yaml:"min_lr_ratio" help:"where the schedule ends, as a share of the learning rate" range:"[0,1]"`
	MaxNorm     float64    `yaml:"max_norm" help:"largest global gradient norm; 0 does not clip" range:">=0"`
}

// AdamConfig is AdamW with decoupled weight decay (arXiv 1711.05101).
type AdamConfig struct {
	LR          float64   `yaml:"lr" help:"learning rate; with muon, that of embeddings, norms, biases and a critic's head" range:">=0"`
	Betas       []float64 `yaml:"betas" help:"decay of the first and second moment" len:"2" range:"[0,1)"`
	Eps         float64   `yaml:"eps" help:"added to the root of the second moment" range:"(0,1)"`
	WeightDecay float64   `yaml:"weight_decay" help:"decoupled decay of matrices" range:"[0,1)"`
	BF16        bool      `yaml:"bf16_moments" help:"keep both moments in bfloat16, rounded at random: 4 bytes of memory a weight instead of 8, and a little noise"`
}

// MuonConfig is Muon (https://kellerjordan.github.io/posts/muon).
type MuonConfig struct {
	LR          float64 `yaml:"lr" help:"learning rate of matrices, times sqrt(rows/columns); an lm_head's is this over the root of its width" range:">0"`
	Momentum    float64 `yaml:"momentum" help:"share of the running mean of gradients that a step keeps" range:"[0,1)"`
	WeightDecay float64 `yaml:"weight_decay" help:"decoupled decay of matrices; -1 takes adam.weight_decay" range:"[-1,1)"`
	NSSteps     int     `yaml:"ns_steps" help:"Newton-Schulz iterations: always 5"`
	Nesterov    bool    `yaml:"nesterov" help:"blend the gradient into the running mean once more"`
}

// TrainConfig is the loop.
type TrainConfig struct {
	Steps       int     `yaml:"steps" help:"training batches; 0 goes through the prompts once for each episode" unit:"batches" range:">=0"`
	Episodes    int     `yaml:"num_episodes" help:"passes over the prompts" range:">=1"`
	BatchSize   int     `yaml:"batch_size" help:"rollouts for each optimizer step; 0 makes one step of each batch" unit:"rollouts" range:">=0"`
	MaxEpochs   int     `yaml:"max_epochs" help:"times each batch is trained on" range:">=1"`
	MicroTokens int     `yaml:"max_tokens_per_micro_batch" alias:"train.max_tokens_per_gpu" help:"tokens in one forward pass: memory against speed" unit:"tokens" range:">=2"`
	Mode        string  `yaml:"mode" help:"sync, or one_step_ahead (generate the next batch while this one trains; lag 1)" enum:"sync,one_step_ahead"`
	Seed        uint64  `yaml:"seed" help:"of everything random in the run"`
	StopScore   float64 `yaml:"stop_score" help:"end early once held-out pass@1 reaches this; 0 never does" range:"[0,1]"`
}

// EvalConfig says when and how held-out prompts are tried.
type EvalConfig struct {
	Dataset     []string `yaml:"dataset" help:"JSONL files of held-out prompts, comma separated"`
	Steps       int      `yaml:"steps" help:"evaluate every so many batches; 0 only at the end" unit:"batches" range:">=0"`
	AtStart     bool     `yaml:"eval_at_start" help:"also evaluate before the first step"`
	Samples     int      `yaml:"n_samples_per_prompt" help:"rollouts of each held-out prompt; pass@k needs k of them" unit:"rollouts" range:">=1"`
	Temperature float64  `yaml:"temperature" help:"sampling temperature of evaluation; 0 is greedy" range:"0 or [0.001,1000]"`
	MaxSamples  int      `yaml:"max_samples" help:"use at most so many held-out rows; 0 uses all" range:">=0"`
}

// CkptConfig says what is kept on disk.
type CkptConfig struct {
	Path      string  `yaml:"path" free:"yes" alias:"ckpt.output_dir" help:"run folder"`
	SaveSteps int     `yaml:"save_steps" help:"resumable checkpoint every so many batches" unit:"batches" range:">=1"`
	MaxNum    int     `yaml:"max_num" free:"yes" help:"keep at most so many checkpoints besides the best" range:">=1"`
	MaxMem    float64 `yaml:"max_mem" free:"yes" help:"disk budget of the checkpoints; 0 is none" unit:"GB" range:"[0,1000000]"`
	DType     string  `yaml:"dtype" free:"yes" help:"type of the weights in the model folders that the run leaves: f32 is what was trained, bf16 and f16 round it; checkpoints stay f32" enum:"f32,bf16,f16"`
	MaxShard  float64 `yaml:"max_shard_size" free:"yes" help:"most weights in one file of the model folders that the run leaves; 0 writes one file" unit:"GB" range:"[0,1000000]"`
	BestKey   string  `yaml:"best_metric_key" help:"evaluation metric that picks the best checkpoint" enum:"pass1,passk"`
}

// LoggerConfig says where numbers go.
type LoggerConfig struct {
	TensorBoard bool `yaml:"tensorboard" free:"yes" help:"also write TensorBoard files into the run folder"`
	KeepPerStep int  `yaml:"keep_rollouts" free:"yes" help:"most rollouts kept for the report from each batch" range:">=0"`
	KeepMiB     int  `yaml:"keep_mib" free:"yes" help:"most room for kept rollouts over the run" unit:"MiB" range:"[1,1048576]"`
}

// EngineConfig sizes the embedded engine.
type EngineConfig struct {
	Threads  int `yaml:"threads" free:"yes" help:"worker threads; 0 takes all cores. Changes no bit of the result" range:"[0,1024]"`
	InFlight int `yaml:"in_flight" free:"yes" alias:"rollout.vllm_generate_batch_size" help:"most rollouts running at once; 0 takes one batch" unit:"rollouts" range:"[0,65536]"`
	CacheMiB int `yaml:"cache_mib" free:"yes" help:"room for the KV cache" unit:"MiB" range:"[1,1048576]"`
}

// Defaults is the one place where built-in values live.
func Defaults() Config {
	return Config{
		Data:    DataConfig{InputKey: "input"},
		Agent:   agentDefaults(),
		Rollout: RolloutConfig{BatchSize: 16, Samples: 8, MaxNewTokens: 256, MaxLen: 2048, Temperature: 1, TopP: 1, Retries: 2},
		Algo: AlgoConfig{
			Advantage: AdvantageConfig{Estimator: "grpo", Gamma: 1, Lambda: 1, TurnGamma: 1, Level: "token", Mode: "trunc", Threshold: []float64{0.5, 5}},
			KL:        KLConfig{Estimator: "k3", Horizon: 10000},
			Lag:       LagConfig{Decay: 1},
			MinGraded: 1, Range: []float64{0, 1}, Budget: 256,
		},
		Reward: RewardConfig{
			ClipRange: []float64{-10, 10}, Scale: 1, Normalise: "off",
			Length: LengthConfig{Shape: "off", Factor: 1, Solved: 1, Correct: []float64{1, 0.5}, Wrong: []float64{-0.5, 0}},
		},
		Actor: ActorConfig{
			Clip: []float64{0.2, 0.2}, LossMode: "ppo", Ceiling: 5, Tau: []float64{1, 1.05}, Proximal: "decoupled", Aggregation: "token_mean",
			LoRA: loRA(), OptimConfig: optimizer(1e-6),
		},
		Critic: CriticConfig{Clip: 0.2, Coef: 1, OptimConfig: optimizer(5e-6)},
		Train:  TrainConfig{Episodes: 1, MaxEpochs: 1, MicroTokens: 8192, Mode: "sync", Seed: 42},
		Eval:   EvalConfig{Samples: 1, Temperature: 1},
		Ckpt:   CkptConfig{SaveSteps: 1, MaxNum: 3, BestKey: "pass1", DType: "f32", MaxShard: 50},
		Logger: LoggerConfig{TensorBoard: true, KeepPerStep: 4, KeepMiB: 8},
		Engine: EngineConfig{CacheMiB: 256},
	}
}

// optimizer is AdamW at a constant rate.
func optimizer(lr float64) OptimConfig {
	return OptimConfig{
		Optim:     "adam",
		Adam:      AdamConfig{LR: lr, Betas: []float64{0.9, 0.95}, Eps: 1e-8},
		Muon:      MuonConfig{LR: 0.02, Momentum: 0.95, WeightDecay: -1, NSSteps: 5, Nesterov: true},
		Scheduler: "constant", DecayRatio: 0.2, MinLRRatio: 0.1, MaxNorm: 1,
	}
}
