// Supervised fine-tuning, composed: conversations in, a model folder out. Resumable like everything that takes time.

package finetune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"molt/engine"
	"molt/engine/local"
	"molt/internal/spell"
	"molt/metrics"
	"molt/prompts"
	"molt/run/doctor"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/train"
)

// Run runs, or resumes, supervised fine-tuning in the folder cfg.Ckpt.Path.
func Run(ctx context.Context, cfg *recipe.SFTConfig, settings []*recipe.Setting, view leg.View) (result *Result, err error) {
	s := &tuning{cfg: cfg, view: view, started: time.Now()}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx, settings); err != nil {
		return nil, err
	}
	return s.end(ctx, s.loop(ctx))
}

// tuning is a run of supervised fine-tuning with everything that it opened.
type tuning struct {
	cfg     *recipe.SFTConfig
	view    leg.View
	started time.Time
	plan    *plan
	folder  *folder.Folder
	learner engine.Learner
	log     *metrics.Log
	saved   progress
	unsaved bool // no checkpoint holds the last step
	closers []func() error
}

// progress is how far a run has come, and with it what a checkpoint holds besides the learner.
type progress struct {
	Step    int64          `json:"step"`
	Seq     int64          `json:"seq"`
	Cursor  prompts.Cursor `json:"cursor"`
	Seconds float64        `json:"seconds"`
	Trained int64          `json:"trained_tokens"`
	Loss    float64        `json:"loss"` // of the last step
	Held    *float64       `json:"held_out_loss,omitempty"`
	Raised  leg.Repeats    `json:"raised,omitempty"`
	Untold  untold         `json:"untold,omitzero"`

	From     string   `json:"-"` // the checkpoint that this leg continues
	Warnings []string `json:"-"` // damaged checkpoints that were passed over
}

// untold is what steps did that no event told about yet: most steps have none.
type untold struct {
	Learned int64   `json:"learned_tokens"`
	Tokens  int64   `json:"tokens"`
	Seconds float64 `json:"seconds"`
}

// Result is what a finished run has to say.
type Result struct {
	Run        string      `json:"run"`
	Steps      int64       `json:"steps"`
	Loss       float64     `json:"loss"` // of the last step, nats per learned token
	Held       *float64    `json:"held_out_loss,omitempty"`
	Seconds    float64     `json:"seconds"`
	Trained    int64       `json:"tokens_trained"`
	Checkpoint string      `json:"checkpoint"`     // Hugging Face folder of the weights, or PEFT folder of the adapter
	Base       string      `json:"base,omitempty"` // the model that the adapter is for
	Report     string      `json:"report"`
	Alarms     leg.Repeats `json:"alarms,omitempty"` // steps in which each was raised
}

// String is the result as a few lines.
func (r *Result) String() string {
	text := fmt.Sprintf("trained %d steps in %s, loss %.3f nats a token", r.Steps, time.Duration(r.Seconds*float64(time.Second)).Round(100*time.Millisecond), r.Loss)
	if r.Held != nil {
		text += fmt.Sprintf(", held-out %.3f", *r.Held)
	}
	if r.Base != "" {
		text += fmt.Sprintf("\nbase    %s", spell.Quoted(r.Base))
	}
	text += r.Alarms.Line("\nalarms  %s")
	return text + fmt.Sprintf("\n%-7s %s\nreport  %s\n", leg.Holds(r.Base), spell.Quoted(r.Checkpoint), spell.Quoted(r.Report))
}

func (s *tuning) open(ctx context.Context, settings []*recipe.Setting) (err error) {
	if s.plan, err = preflight(ctx, s.cfg, s.view.Lines()); err != nil {
		return err
	}
	doctor.Warn(s.view.Lines(), s.plan.model)
	if s.folder, err = folder.Open(s.cfg.Ckpt.Path, "sft", settings, s.plan.inputs); err != nil {
		return err
	}
	s.closers = append(s.closers, s.folder.Close)
	config := s.plan.engine
	config.Copied = s.plan.model.Release
	learner, err := local.NewLearner(s.plan.shape, s.plan.model.Weights, config)
	if err != nil {
		return leg.NotStarted(s.cfg.Model.Path, err)
	}
	s.learner = learner
	s.closers = append(s.closers, s.learner.Close)
	if err := s.restore(ctx); err != nil {
		return err
	}
	return s.openLog()
}

func (s *tuning) openLog() error {
	sinks := s.view.Sinks()
	if s.cfg.Logger.TensorBoard {
		sinks = append(sinks, metrics.NewTensorBoard(s.folder.File(folder.TensorboardDir)))
	}
	log, keeper, err := leg.OpenEvents(s.folder, s.saved.Seq, s.saved.Step, sinks, metrics.Config{})
	if err != nil {
		return err
	}
	s.log = log
	s.closers = append(s.closers, func() error { return leg.CloseEvents(s.folder, log, keeper) })
	s.log.Emit(s.plan.started(s.folder, s.view, s.saved.From))
	leg.PassedOver(s.log, s.saved.Step, s.saved.Warnings)
	if a, warns := s.plan.defaultRate(); warns {
		s.log.Emit(a)
	}
	if n := s.plan.tooLong; n > 0 {
		s.log.Emit(metrics.Alarm{Name: "rows-left-out", Severity: metrics.Warning, Sentence: fmt.Sprintf("%d conversations are longer than %d tokens and are left out", n, s.cfg.Data.MaxLen), Fix: "raise data.max_len"})
	}
	if n := s.plan.odd; n > 0 {
		s.log.Emit(metrics.Alarm{Name: "turns-not-read-back", Severity: metrics.Warning, Sentence: fmt.Sprintf("%d assistant turns do not read back from the template as they were written", n), Fix: "look at their tool calls and their thinking"})
	}
	return nil
}

// loop takes the steps, evaluates now and then, and saves. An interrupt ends ctx; the step in hand is finished.
func (s *tuning) loop(ctx context.Context) error {
	whole := context.WithoutCancel(ctx)
	for s.saved.Step < s.plan.steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.step(whole); err != nil {
			return err
		}
		if s.saved.Step == s.plan.steps || s.saved.Step%int64(s.cfg.Ckpt.SaveSteps) == 0 {
			if err := s.save(whole); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *tuning) step(ctx context.Context) error {
	clock := leg.NewClock()
	lr := s.plan.schedule().At(s.saved.Step)
	res, err := train.SFTStep(ctx, s.learner, s.plan.next(s.cfg.Train.BatchSize), s.cfg.Train.MicroTokens, engine.StepOptions{LR: lr, Clip: s.cfg.Model.MaxNorm})
	if err != nil {
		return err
	}
	if math.IsNaN(res.Loss) || math.IsInf(res.Loss, 0) {
		return &problem.Problem{
			Code: problem.Alarm, Where: s.folder.Path, What: fmt.Sprintf("the loss of step %d is %v: the weights have diverged", s.saved.Step+1, res.Loss),
			Fix: fmt.Sprintf("start again in another folder with a lower learning rate; the last was %g", lr),
		}
	}
	s.saved.Step++
	s.unsaved = true
	seconds := clock.Total()
	held, err := s.evaluate(ctx)
	if err != nil {
		return err
	}
	s.note(res, held, lr, seconds)
	return nil
}

func (s *tuning) note(res train.SFTResult, held *float64, lr, seconds float64) {
	s.saved.Loss = res.Loss
	s.saved.Trained += int64(res.Tokens)
	s.saved.Seconds += seconds
	u := &s.saved.Untold
	*u = untold{u.Learned + int64(res.Learn), u.Tokens + int64(res.Tokens), u.Seconds + seconds}
	if s.saved.Step%int64(s.cfg.Logger.Every) == 0 || s.saved.Step == s.plan.steps || held != nil {
		s.log.Emit(metrics.SFTStep{
			Step: s.saved.Step, Loss: res.Loss, GradNorm: res.Step.GradNorm, LearningRate: lr, Trained: u.Learned, Tokens: u.Tokens, WallSeconds: u.Seconds, HeldOut: held,
		})
		*u = untold{}
	}
	if !res.Step.Skipped {
		return
	}
	if again, tell := s.saved.Raised.Count("step-skipped"); tell {
		s.log.Emit(metrics.Alarm{
			Name: "step-skipped", Severity: metrics.Warning, Step: s.saved.Step, Fix: "lower the learning rate",
			Sentence: fmt.Sprintf("step %d: the gradient norm is no number; the weights did not change", s.saved.Step) + again,
		})
	}
}

// evaluate measures the loss on held-out conversations, nil where it is not time.
func (s *tuning) evaluate(ctx context.Context) (*float64, error) {
	every := int64(s.cfg.Eval.Steps)
	if len(s.plan.heldOut) == 0 || s.saved.Step != s.plan.steps && (every == 0 || s.saved.Step%every != 0) {
		return nil, nil
	}
	res, err := train.SFTLoss(ctx, s.learner, s.plan.heldOut, s.cfg.Train.MicroTokens)
	if err != nil {
		return nil, err
	}
	s.saved.Held = &res.Loss
	return s.saved.Held, nil
}

func (s *tuning) save(ctx context.Context) error {
	if err := s.folder.Mine(); err != nil {
		return err
	}
	name := leg.CheckpointName(s.saved.Step)
	s.saved.Seq = s.log.Emit(metrics.CheckpointSaved{Step: s.saved.Step, Keep: "last", Path: filepath.Join(folder.CheckpointsDir, name)})
	s.saved.Cursor = s.plan.stream.Cursor()
	state, err := json.Marshal(s.saved)
	if err != nil {
		return fmt.Errorf("finetune: encode the checkpoint: %w", err)
	}
	if err := leg.SaveCheckpoint(ctx, s.learner, s.folder.File(folder.CheckpointsDir, name), state); err != nil {
		return err
	}
	s.unsaved = false
	return leg.Prune(s.folder, s.log, s.saved.Step, leg.Pruning{Keep: s.cfg.Ckpt.MaxNum, Gigabytes: s.cfg.Ckpt.MaxMem, Protect: []string{name}})
}

func (s *tuning) restore(ctx context.Context) error {
	path, warnings, err := leg.NewestCheckpoint(s.folder)
	if path == "" {
		return err
	}
	raw, err := s.learner.Load(context.WithoutCancel(ctx), path) // an interrupted run finds out at its first step
	if err == nil {
		err = json.Unmarshal(raw, &s.saved)
	}
	if err == nil {
		err = leg.Vouch(filepath.Base(path), s.saved.Step, s.saved.Seq)
	}
	if err == nil {
		err = s.plan.stream.Seek(s.saved.Cursor)
	}
	if err != nil {
		return leg.NoResume(path, err)
	}
	s.saved.From, s.saved.Warnings = filepath.Base(path), warnings
	return nil
}

// end writes the model and the report. err is why the loop ended, nil when it came to its end.
func (s *tuning) end(ctx context.Context, err error) (*Result, error) {
	stopped := leg.Interrupted(ctx, err)
	ctx = context.WithoutCancel(ctx)
	switch {
	case err == nil:
		err = s.export(ctx)
	case stopped:
		err = s.giveWay(ctx, err)
	}
	if gone := leg.Abandon(s.folder, err); gone != nil {
		return nil, gone
	}
	if err = errors.Join(err, leg.Conclude(s.folder, s.log, leg.Ending(err, s.view, s.started, s.saved.Step))); err != nil {
		return nil, err
	}
	result := &Result{
		Run: s.folder.Path, Alarms: s.saved.Raised, Steps: s.saved.Step, Loss: s.saved.Loss, Held: s.saved.Held, Seconds: s.saved.Seconds, Trained: s.saved.Trained,
		Checkpoint: s.folder.File(folder.FinalDir), Report: s.folder.File(folder.ReportFile),
		Base: leg.BaseOf(s.plan.model, s.cfg.Model.LoRA),
	}
	return result, s.folder.Finish(result)
}

// giveWay saves what an interrupted run has done.
func (s *tuning) giveWay(ctx context.Context, err error) error {
	err = leg.StoppedAfter(s.folder, s.saved.Step, s.view, err)
	if s.unsaved {
		return errors.Join(s.save(ctx), err)
	}
	return err
}

func (s *tuning) export(ctx context.Context) error {
	return leg.ExportTo(ctx, s.folder.File(folder.FinalDir), s.plan.model, s.learner, s.cfg.Model.LoRA, leg.Form(s.cfg.Ckpt.DType, s.cfg.Ckpt.MaxShard))
}

func (s *tuning) close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}
