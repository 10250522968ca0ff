// Everything that can be known before the first token: refused here, in sentences, all at once, or resolved into a plan.

package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"molt/agent"
	"molt/algo"
	"molt/engine/local"
	"molt/metrics"
	"molt/numeric/model"
	"molt/prompts"
	"molt/run/doors"
	"molt/run/leg"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/run/tasks"
	"molt/traj"
)

// rlPlan is a configuration with everything resolved that the loop needs.
type rlPlan struct {
	cfg      *recipe.Config
	model    *models.Model
	shape    model.Config // of the model, its longest sequence lowered to the run's
	engine   local.Config
	others   companions
	algo     algo.Config
	stream   *prompts.Stream
	prompts  int // rows to train on
	agent    *doors.Agent
	heldOut  []agent.Task
	inputs   map[string]string // digests of what the run reads
	capacity int               // rollouts in flight
	lag      int               // published versions
	updates  int64             // optimizer steps of the whole run, for the schedule
	steps    int64             // batches of the whole run
}

// preflight opens and checks everything that a run reads, and writes nothing. Close the plan in the end, or its agent.
func preflight(ctx context.Context, cfg *recipe.Config) (p *rlPlan, err error) {
	p = &rlPlan{cfg: cfg, inputs: map[string]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if err := p.settings(); err != nil {
		return nil, err
	}
	if p.model, err = models.Open(cfg.Model.Path); err != nil {
		return nil, err
	}
	if err := p.model.NeedTemplate(); err != nil {
		return nil, err
	}
	if err := leg.Adapt(p.model, cfg.Model.Adapter, "actor.", cfg.Actor.LoRA); err != nil {
		return nil, err
	}
	p.model.Identify(p.inputs)
	if p.shape, err = models.Bounded(p.model.Shape, cfg.Rollout.MaxLen); err != nil {
		return nil, err
	}
	if err := p.data(ctx); err != nil {
		return nil, err
	}
	if err := p.horizon(); err != nil {
		return nil, err
	}
	p.sizes()
	if err := leg.Usable("actor.", p.engine, p.learned()); err != nil {
		return nil, err
	}
	if err := p.companions(); err != nil {
		return nil, err
	}
	return p, p.memory()
}

// close ends the agent of a plan that is not carried out.
func (p *rlPlan) close() error {
	if p == nil || p.agent == nil {
		return nil
	}
	return p.agent.Close()
}

// settings checks what needs no file.
func (p *rlPlan) settings() error {
	var problems []error
	refuse := func(setting, why, fix string) {
		problems = append(problems, &problem.Problem{Code: problem.Combined, Where: setting, What: why, Fix: fix})
	}
	c := p.cfg
	if len(c.Data.Prompts) == 0 {
		refuse("data.prompt_dataset", "no prompts to train on", "name JSONL files")
	}
	if c.Data.InputKey == "" {
		refuse("data.input_key", "no key to read a row's prompt from", "name it, or leave the setting out")
	}
	if len(c.Data.Probs) > 0 && len(c.Data.Probs) != len(c.Data.Prompts) {
		refuse("data.prompt_probs", fmt.Sprintf("%d weights for %d files", len(c.Data.Probs), len(c.Data.Prompts)), "give one weight for each file, or none")
	}
	if n := c.Rollout.BatchSize * c.Rollout.Samples; n > maxBatch {
		refuse("rollout.batch_size", fmt.Sprintf("a batch of %d rollouts; the most is %d", n, maxBatch), "lower it, or rollout.n_samples_per_prompt")
	}
	if c.Rollout.MaxNewTokens >= c.Rollout.MaxLen {
		refuse("rollout.max_new_tokens", fmt.Sprintf("one turn may take %d tokens of the rollout's %d, which leaves no room for the prompt", c.Rollout.MaxNewTokens, c.Rollout.MaxLen), "lower it, or raise rollout.max_len")
	}
	if c.Train.BatchSize > c.Rollout.BatchSize*c.Rollout.Samples {
		refuse("train.batch_size", fmt.Sprintf("%d rollouts for each optimizer step, but a batch has only %d", c.Train.BatchSize, c.Rollout.BatchSize*c.Rollout.Samples), "lower it, or leave it at 0")
	}
	if len(c.Eval.Dataset) == 0 && (c.Eval.Steps > 0 || c.Eval.AtStart || c.Train.StopScore > 0) {
		refuse("eval.dataset", "evaluation is wanted and there is nothing to evaluate on", "name JSONL files, or leave eval.steps, eval.eval_at_start and train.stop_score out")
	}
	if c.Ckpt.BestKey == "passk" && c.Eval.Samples < 2 {
		refuse("ckpt.best_metric_key", "pass@k needs more than one rollout of each held-out prompt", "raise eval.n_samples_per_prompt, or choose pass1")
	}
	if c.Distils() && c.Ref.Path == "" {
		refuse("ref.model_name_or_path", "distillation learns from a teacher, and there is none", "name a model folder with the same tokenizer")
	}
	if c.Reward.Shuffle && c.Distils() {
		refuse("reward.shuffle", "distillation does not look at rewards, so it is no control", "leave it out")
	}
	c.Unread(nil, refuse)
	c.Actor.OptimConfig.Unread("actor.", refuse)
	c.Actor.LoRA.Unread("actor.", c.Actor.OptimConfig, refuse)
	if c.Criticises() {
		c.Critic.Unread("critic.", refuse)
	}
	p.mathematics()
	for _, q := range algo.Check(p.algo, p.facts()) {
		refuse(settingOf(q.Field), inSettings(q.Why), inSettings(q.Fix))
	}
	return errors.Join(problems...)
}

// maxBatch bounds the rollouts of a batch: they are all in memory at once.
const maxBatch = 1 << 20

// filter judges a group for the scheduler: "" when it trains.
func (p *rlPlan) filter(g *traj.Group) string {
	var reward []float64
	for _, r := range g.Graded() {
		reward = append(reward, algo.ClipReward(r.Reward, p.algo.RewardLow, p.algo.RewardHigh))
	}
	return string(algo.Filter(reward, p.algo))
}

func (p *rlPlan) data(ctx context.Context) error {
	c := p.cfg
	keys := prompts.Keys{Input: c.Data.InputKey, Label: tasks.LabelKey(c.Data.LabelKey, append(slices.Clone(c.Data.Prompts), c.Eval.Dataset...)...), Tools: c.Data.ToolsKey, ID: c.Data.IDKey}
	sets, err := tasks.Read(c.Data.Prompts, c.Data.Probs, keys, c.Data.MaxSamples)
	if err != nil {
		return err
	}
	for _, s := range sets {
		p.prompts += s.Len()
	}
	stream := prompts.Config{Seed: c.Train.Seed, Shuffle: true, Epochs: int64(c.Train.Episodes)}
	if c.Train.Steps > 0 {
		stream.Epochs = 0
	}
	if p.stream, err = prompts.NewStream(stream, tasks.Plain(sets)...); err != nil {
		return &problem.Problem{Code: problem.Data, What: err.Error(), Fix: "mend the data settings", Err: err}
	}
	evalSets, err := tasks.Read(c.Eval.Dataset, nil, keys, c.Eval.MaxSamples)
	if err != nil {
		return err
	}
	if p.agent, err = openAgent(ctx, c, p.model); err != nil {
		return err
	}
	if err := possible(ctx, p.model, c, p.agent.Env(), append(sets, evalSets...)); err != nil {
		return err
	}
	if p.heldOut, err = tasks.HeldOut(evalSets, c.Train.Seed); err != nil {
		return err
	}
	if err := doors.Identify(p.inputs, &c.Agent); err != nil {
		return err
	}
	p.inputs, err = tasks.Digests(p.inputs, append(append([]string{}, c.Data.Prompts...), c.Eval.Dataset...))
	return err
}

// horizon counts the batches and optimizer steps of the whole run.
func (p *rlPlan) horizon() error {
	c := p.cfg
	p.steps = int64(c.Train.Steps)
	if p.steps == 0 {
		p.steps = int64((p.prompts*c.Train.Episodes + c.Rollout.BatchSize - 1) / c.Rollout.BatchSize)
	}
	if frozen := int64(c.Actor.Freezing); frozen > 0 && frozen >= p.steps {
		return &problem.Problem{Code: problem.Combined, Where: "actor.freezing_steps", What: fmt.Sprintf("the policy would not move in any of the %d batches", p.steps), Fix: "lower it, or take more batches"}
	}
	p.updates = (p.steps - int64(c.Actor.Freezing)) * int64(p.updatesPerBatch())
	if err := leg.Schedule(c.Actor.OptimConfig, p.updates).Validate(); err != nil {
		return &problem.Problem{Code: problem.Setting, Where: "actor.lr_warmup_steps", What: err.Error(), Fix: "shorten the warm-up or take more steps", Err: err}
	}
	return nil
}

// updatesPerBatch counts the optimizer steps of the policy for each batch, miniBatches those of one pass over it.
func (p *rlPlan) updatesPerBatch() int { return p.miniBatches() * p.cfg.Train.MaxEpochs }

func (p *rlPlan) miniBatches() int {
	c := p.cfg
	if c.Train.BatchSize == 0 {
		return 1
	}
	return (c.Rollout.BatchSize*c.Rollout.Samples + c.Train.BatchSize - 1) / c.Train.BatchSize
}

func (p *rlPlan) sizes() {
	c := p.cfg
	p.capacity = c.Engine.InFlight
	if p.capacity == 0 {
		p.capacity = c.Rollout.BatchSize * c.Rollout.Samples
	}
	p.engine = models.Engine(c.Engine.Threads, p.capacity, c.Engine.CacheMiB, c.Train.MicroTokens, p.shape)
	p.engine.Optimizer = leg.Optimizer(c.Actor.OptimConfig)
	p.engine.LoRA = leg.LoRA(c.Actor.LoRA, p.model, c.Train.Seed)
	if c.SharesTrunk() {
		head := leg.Optimizer(c.Critic.OptimConfig)
		p.engine.Head = &head
	}
}

// learned is the shape that the learner holds: the policy's, and a value head where the critic shares its trunk.
func (p *rlPlan) learned() model.Config {
	shape := p.shape
	shape.ValueHead = p.cfg.SharesTrunk()
	return shape
}

// defaultRate warns of a learning rate that nobody chose.
func (p *rlPlan) defaultRate() (metrics.Alarm, bool) {
	return leg.DefaultRate("actor.", p.cfg.Actor.OptimConfig, recipe.Defaults().Actor.OptimConfig, int64(p.shape.ParamCount()))
}
