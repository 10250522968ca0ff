// Every setting of `molt sft`.

package recipe

// SFTConfig is the whole configuration of supervised fine-tuning.
type SFTConfig struct {
	Model  SFTModelConfig `yaml:"model"`
	Data   SFTDataConfig  `yaml:"data"`
	Train  SFTTrainConfig `yaml:"train"`
	Eval   SFTEvalConfig  `yaml:"eval"`
	Ckpt   SFTCkptConfig  `yaml:"ckpt"`
	Logger SFTLogConfig   `yaml:"logger"`
	Engine SFTEngine      `yaml:"engine"`
}

// SFTModelConfig says which weights training starts from, and its optimizer.
type SFTModelConfig struct {
	Path    string     `yaml:"model_name_or_path" help:"Hugging Face model folder to start from (required)"`
	Adapter string     `yaml:"adapter" help:"PEFT folder of an adapter that is put on the model: trained on with model.lora.rank, a part of the weights without"`
	LoRA    LoRAConfig `yaml:"lora"`
	OptimConfig
}

// SFTDataConfig says which conversations are learned, and how a row is read.
type SFTDataConfig struct {
	Dataset    []string  `yaml:"dataset" help:"JSONL files of conversations, comma separated (required)"`
	Probs      []float64 `yaml:"dataset_probs" help:"mixing weights of the files, comma separated; none means one after the other" range:">0"`
	MaxSamples int       `yaml:"max_samples" help:"use at most so many rows of each file; 0 uses all" unit:"rows" range:">=0"`
	MaxLen     int       `yaml:"max_len" help:"longest conversation; longer ones are counted and left out" unit:"tokens" range:">=2"`
	InputKey   string    `yaml:"input_key" help:"key of the conversation (chat messages), or of the prompt when output_key is set"`
	OutputKey  string    `yaml:"output_key" help:"key of the reply; empty when input_key holds the whole conversation"`
	ToolsKey   string    `yaml:"tools_key" help:"key of the tool schemas; empty for none"`
	LastTurn   bool      `yaml:"train_on_last_turn_only" help:"learn only the last assistant turn of each conversation"`
}

// SFTTrainConfig is the loop.
type SFTTrainConfig struct {
	Steps       int    `yaml:"steps" help:"optimizer steps; 0 goes through the data max_epochs times" unit:"steps" range:">=0"`
	BatchSize   int    `yaml:"batch_size" help:"conversations for each optimizer step" unit:"conversations" range:">=1"`
	MaxEpochs   int    `yaml:"max_epochs" help:"passes over the data" range:">=1"`
	MicroTokens int    `yaml:"max_tokens_per_micro_batch" alias:"train.max_tokens_per_gpu" help:"tokens in one forward pass: memory against speed" unit:"tokens" range:">=2"`
	Seed        uint64 `yaml:"seed" help:"of the order of the data"`
}

// SFTEvalConfig says when the loss on held-out conversations is measured.
type SFTEvalConfig struct {
	Dataset []string `yaml:"dataset" help:"JSONL files of held-out conversations, comma separated"`
	Steps   int      `yaml:"steps" help:"evaluate every so many steps; 0 only at the end" unit:"steps" range:">=0"`
}

// SFTCkptConfig says what is kept on disk.
type SFTCkptConfig struct {
	Path      string  `yaml:"path" free:"yes" alias:"ckpt.output_dir" help:"run folder"`
	SaveSteps int     `yaml:"save_steps" help:"resumable checkpoint every so many steps" unit:"steps" range:">=1"`
	MaxNum    int     `yaml:"max_num" free:"yes" help:"keep at most so many checkpoints" range:">=1"`
	MaxMem    float64 `yaml:"max_mem" free:"yes" help:"disk budget of the checkpoints; 0 is none" unit:"GB" range:"[0,1000000]"`
	DType     string  `yaml:"dtype" free:"yes" help:"type of the weights in the model folders that the run leaves: f32 is what was trained, bf16 and f16 round it; checkpoints stay f32" enum:"f32,bf16,f16"`
	MaxShard  float64 `yaml:"max_shard_size" free:"yes" help:"most weights in one file of the model folders that the run leaves; 0 writes one file" unit:"GB" range:"[0,1000000]"`
}

// SFTLogConfig says where numbers go.
type SFTLogConfig struct {
	TensorBoard bool `yaml:"tensorboard" free:"yes" help:"also write TensorBoard files into the run folder"`
	Every       int  `yaml:"logging_steps" free:"yes" help:"write an event every so many steps" unit:"steps" range:">=1"`
}

// SFTEngine sizes the embedded engine.
type SFTEngine struct {
	Threads int `yaml:"threads" free:"yes" help:"worker threads; 0 takes all cores. Changes no bit of the result" range:"[0,1024]"`
}

// SFTDefaults is the one place where built-in values live.
func SFTDefaults() SFTConfig {
	return SFTConfig{
		Model:  SFTModelConfig{LoRA: loRA(), OptimConfig: optimizer(5e-6)},
		Data:   SFTDataConfig{MaxLen: 2048, InputKey: "messages"},
		Train:  SFTTrainConfig{BatchSize: 128, MaxEpochs: 2, MicroTokens: 8192, Seed: 42},
		Ckpt:   SFTCkptConfig{SaveSteps: 100, MaxNum: 3, DType: "f32", MaxShard: 50},
		Logger: SFTLogConfig{TensorBoard: true, Every: 10},
	}
}
