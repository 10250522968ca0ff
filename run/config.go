// Every setting of a run, with its name, default, unit and meaning. Names are those of the original Molt where the
// concept is the same, so that scripts carry over. The tags feed flags, recipe files, --dry-run and the documentation.

package run

// Config is the whole configuration of `molt rl`.
type Config struct {
	Model   ModelConfig   `yaml:"model"`
	Data    DataConfig    `yaml:"data"`
	Agent   AgentConfig   `yaml:"agent"`
	Rollout RolloutConfig `yaml:"rollout"`
	Algo    AlgoConfig    `yaml:"algo"`
	Reward  RewardConfig  `yaml:"reward"`
	Actor   ActorConfig   `yaml:"actor"`
	Train   TrainConfig   `yaml:"train"`
	Eval    EvalConfig    `yaml:"eval"`
	Ckpt    CkptConfig    `yaml:"ckpt"`
	Logger  LoggerConfig  `yaml:"logger"`
	Engine  EngineConfig  `yaml:"engine"`
}

// ModelConfig says which weights training starts from.
type ModelConfig struct {
	Path string `yaml:"model_name_or_path" alias:"actor.model_name_or_path" help:"Hugging Face model folder to start from (required)"`
}

// DataConfig says which prompts are tried, and how a row is read.
type DataConfig struct {
	Prompts    []string  `yaml:"prompt_dataset" help:"JSONL files of prompts, comma separated"`
	Probs      []float64 `yaml:"prompt_probs" help:"mixing weights of the files, comma separated; none means one after the other"`
	MaxSamples int       `yaml:"max_samples" help:"use at most so many rows of each file; 0 uses all" range:">=0"`
	InputKey   string    `yaml:"input_key" help:"key of the prompt: a string, or a list of chat messages"`
	LabelKey   string    `yaml:"label_key" help:"key of what the reward compares with; empty for none"`
	ToolsKey   string    `yaml:"tools_key" help:"key of the tool schemas; empty for none"`
	IDKey      string    `yaml:"id_key" help:"key of the prompt's id; empty numbers the rows"`
}

// AgentConfig says what acts on a prompt.
type AgentConfig struct {
	Name        string  `yaml:"name" help:"agent: shop (the quickstart's tool task) or answer (one reply, compared with the label)" enum:"shop,answer"`
	MaxTurns    int     `yaml:"max_turns" help:"most calls of the policy in a rollout" unit:"turns" range:">=1"`
	StepTimeout float64 `yaml:"step_timeout" help:"longest one environment step may take" unit:"s" range:">0"`
	Timeout     float64 `yaml:"timeout" help:"longest one rollout may take, generation included" unit:"s" range:">0"`
}

// RolloutConfig says how rollouts are made.
type RolloutConfig struct {
	BatchSize    int     `yaml:"batch_size" help:"prompt groups for each training batch" unit:"groups" range:">=1"`
	Samples      int     `yaml:"n_samples_per_prompt" help:"rollouts of each prompt: the size of a group" unit:"rollouts" range:">=1"`
	MaxNewTokens int     `yaml:"max_new_tokens" help:"most tokens sampled in one turn" unit:"tokens" range:">=1"`
	MaxLen       int     `yaml:"max_len" alias:"data.max_len" help:"most tokens of a rollout, prompt and replies together" unit:"tokens" range:">=2"`
	Temperature  float64 `yaml:"temperature" help:"divides the logits before sampling" range:">0"`
	TopP         float64 `yaml:"top_p" help:"keep the smallest set of tokens with this probability; 1 keeps all" range:"(0,1]"`
	TopK         int     `yaml:"top_k" help:"keep the k most likely tokens; 0 keeps all" range:">=0"`
	MinP         float64 `yaml:"min_p" help:"keep tokens with at least this share of the largest probability; 0 keeps all" range:"[0,1)"`
	Retries      int     `yaml:"retries" help:"further attempts of a rollout that failed through no fault of the policy" range:">=0"`
}

// AlgoConfig says how rewards become gradients.
type AlgoConfig struct {
	Advantage AdvantageConfig `yaml:"advantage"`
	KL        KLConfig        `yaml:"kl"`
	Filter    bool            `yaml:"dynamic_filtering_enable" help:"replace groups whose mean reward is not strictly inside the range (DAPO)"`
	Range     []float64       `yaml:"dynamic_filtering_range" help:"low,high of the mean reward of a group, both exclusive" len:"2"`
	Budget    int             `yaml:"dynamic_filtering_budget" help:"most filtered groups for one batch before the run ends" unit:"groups" range:">=1"`
}

// AdvantageConfig picks the estimator and the correction for generators that lag or differ.
type AdvantageConfig struct {
	Estimator string    `yaml:"estimator" help:"grpo, dr_grpo, rloo, reinforce_baseline or reinforce" enum:"grpo,dr_grpo,rloo,reinforce_baseline,reinforce"`
	Gamma     float64   `yaml:"gamma" help:"discount of rewards over tokens (reinforce)" range:"(0,1]"`
	NoWhiten  bool      `yaml:"no_whiten" help:"do not normalise advantages over the batch (reinforce, reinforce_baseline)"`
	Level     string    `yaml:"is_correction_level" help:"weight by exp(Old-Gen): off, token, geo or seq" enum:"off,token,geo,seq"`
	Mode      string    `yaml:"is_correction_mode" help:"out-of-band weights: mask, clip or trunc" enum:"mask,clip,trunc"`
	Threshold []float64 `yaml:"is_correction_threshold" help:"low,high of the band" len:"2"`
}

// KLConfig keeps the policy near where it started.
type KLConfig struct {
	Coef      float64 `yaml:"init_coef" help:"weight of the KL divergence to the starting weights; 0 loads no reference model" range:">=0"`
	UseLoss   bool    `yaml:"use_loss" help:"add KL to the loss instead of the reward"`
	Estimator string  `yaml:"estimator" help:"k1, k2 or k3" enum:"k1,k2,k3"`
	Target    float64 `yaml:"target" help:"adapt the weight to keep KL near this; 0 keeps it fixed" unit:"nats" range:">=0"`
	Horizon   int     `yaml:"horizon" help:"how slowly the weight adapts" unit:"rollouts" range:">=1"`
}

// RewardConfig shapes rewards before advantages.
type RewardConfig struct {
	ClipRange []float64 `yaml:"clip_range" help:"low,high of the reward of a rollout" len:"2"`
	Shuffle   bool      `yaml:"shuffle" help:"control experiment: deal each batch's rewards out at random; nothing can be learned from them"`
}

// ActorConfig is the policy's loss and optimizer.
type ActorConfig struct {
	Clip        []float64  `yaml:"eps_clip_low_high" help:"low,high of the ratio clip: 1-low to 1+high" len:"2"`
	DualClip    float64    `yaml:"dual_clip" help:"bound of the loss where the advantage is negative; 0 is off" range:">=0"`
	LossMode    string     `yaml:"loss_mode" help:"ppo (clipped) or pg (plain policy gradient)" enum:"ppo,pg"`
	Entropy     float64    `yaml:"entropy_coef" help:"weight of the entropy bonus; 0 is off" range:">=0"`
	Adam        AdamConfig `yaml:"adam"`
	Scheduler   string     `yaml:"lr_scheduler" help:"constant, linear or cosine" enum:"constant,linear,cosine"`
	WarmupSteps int        `yaml:"lr_warmup_steps" help:"optimizer steps of linear warm-up" unit:"steps" range:">=0"`
	MinLRRatio  float64    `yaml:"min_lr_ratio" help:"where the schedule ends, as a share of the learning rate" range:"[0,1]"`
	MaxNorm     float64    `yaml:"max_norm" help:"largest global gradient norm; 0 does not clip" range:">=0"`
}

// AdamConfig is AdamW with decoupled weight decay (arXiv 1711.05101).
type AdamConfig struct {
	LR          float64   `yaml:"lr" help:"learning rate" range:">=0"`
	Betas       []float64 `yaml:"betas" help:"decay of the first and second moment" len:"2"`
	Eps         float64   `yaml:"eps" help:"added to the root of the second moment" range:">0"`
	WeightDecay float64   `yaml:"weight_decay" help:"decoupled decay of matrices" range:">=0"`
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
	Temperature float64  `yaml:"temperature" help:"sampling temperature of evaluation; 0 is greedy" range:">=0"`
	MaxSamples  int      `yaml:"max_samples" help:"use at most so many held-out rows; 0 uses all" range:">=0"`
}

// CkptConfig says what is kept on disk.
type CkptConfig struct {
	Path      string  `yaml:"path" free:"yes" alias:"ckpt.output_dir" help:"run folder"`
	SaveSteps int     `yaml:"save_steps" help:"resumable checkpoint every so many batches" unit:"batches" range:">=1"`
	MaxNum    int     `yaml:"max_num" free:"yes" help:"keep at most so many checkpoints besides the best" range:">=1"`
	MaxMem    float64 `yaml:"max_mem" free:"yes" help:"disk budget of the checkpoints; 0 is none" unit:"GB" range:">=0"`
	BestKey   string  `yaml:"best_metric_key" help:"evaluation metric that picks the best checkpoint" enum:"pass1,passk"`
}

// LoggerConfig says where numbers go.
type LoggerConfig struct {
	TensorBoard bool `yaml:"tensorboard" free:"yes" help:"also write TensorBoard files into the run folder"`
	KeepPerStep int  `yaml:"keep_rollouts" free:"yes" help:"most rollouts kept for the report from each batch" range:">=0"`
	KeepMiB     int  `yaml:"keep_mib" free:"yes" help:"most room for kept rollouts over the run" unit:"MiB" range:">=1"`
}

// EngineConfig sizes the embedded engine.
type EngineConfig struct {
	Threads  int `yaml:"threads" free:"yes" help:"worker threads; 0 takes all cores. Changes no bit of the result" range:">=0"`
	InFlight int `yaml:"in_flight" free:"yes" alias:"rollout.vllm_generate_batch_size" help:"most rollouts running at once; 0 takes one batch" unit:"rollouts" range:">=0"`
	CacheMiB int `yaml:"cache_mib" free:"yes" help:"room for the KV cache" unit:"MiB" range:">=1"`
}

// Defaults is the one place where built-in values live.
func Defaults() Config {
	return Config{
		Data:    DataConfig{InputKey: "input"},
		Agent:   AgentConfig{Name: "answer", MaxTurns: 8, StepTimeout: 30, Timeout: 600},
		Rollout: RolloutConfig{BatchSize: 16, Samples: 8, MaxNewTokens: 256, MaxLen: 2048, Temperature: 1, TopP: 1, Retries: 2},
		Algo: AlgoConfig{
			Advantage: AdvantageConfig{Estimator: "grpo", Gamma: 1, Level: "token", Mode: "trunc", Threshold: []float64{0.5, 5}},
			KL:        KLConfig{Estimator: "k3", Horizon: 10000},
			Range:     []float64{0, 1}, Budget: 256,
		},
		Reward: RewardConfig{ClipRange: []float64{-10, 10}},
		Actor: ActorConfig{
			Clip: []float64{0.2, 0.2}, LossMode: "ppo",
			Adam:      AdamConfig{LR: 1e-6, Betas: []float64{0.9, 0.95}, Eps: 1e-8},
			Scheduler: "constant", MinLRRatio: 0.1, MaxNorm: 1,
		},
		Train:  TrainConfig{Episodes: 1, MaxEpochs: 1, MicroTokens: 8192, Mode: "sync", Seed: 42},
		Eval:   EvalConfig{Samples: 1, Temperature: 1},
		Ckpt:   CkptConfig{SaveSteps: 1, MaxNum: 3, BestKey: "pass1"},
		Logger: LoggerConfig{TensorBoard: true, KeepPerStep: 4, KeepMiB: 8},
		Engine: EngineConfig{CacheMiB: 256},
	}
}
