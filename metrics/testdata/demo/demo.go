// Package demo makes up the files of a run, for tests: a policy that learns to use a shop's tools, with a crash in between.
package demo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"time"

	"molt/metrics"
)

// Options say what kind of run to make up. The zero value is a short synchronous run.
type Options struct {
	Seed     uint64
	SFTSteps int                   // default 120
	Steps    int                   // of RL, default 12
	Async    bool                  // tokens lag behind, and the generator's log-probs differ a little from the learner's
	Hostile  bool                  // every text tries to break out of where it is shown
	Crash    bool                  // the first leg is killed two steps after the last checkpoint and resumed
	Sinks    func() []metrics.Sink // of each leg; nil for none
}

// Files are where Write puts things below its folder.
const (
	Events   = "events.jsonl"
	Rollouts = "rollouts.jsonl"
)

// Write makes a run in the folder dir. Equal options give equal bytes.
func Write(dir string, o Options) error {
	if o.SFTSteps == 0 {
		o.SFTSteps = 120
	}
	if o.Steps == 0 {
		o.Steps = 12
	}
	d := &run{Options: o, dir: dir, rng: rand.New(rand.NewPCG(o.Seed, 1)), ids: map[string]int32{},
		clock: time.Date(2026, 11, 30, 18, 25, 3, 0, time.UTC)}
	return d.write()
}

type run struct {
	Options
	dir     string
	rng     *rand.Rand
	clock   time.Time
	log     *metrics.Log
	keeper  *metrics.Keeper
	ids     map[string]int32
	group   int64
	best    float64
	saved   int64 // number that the last checkpoint holds
	savedAt int
}

func (d *run) write() error {
	log, err := metrics.Create(filepath.Join(d.dir, Events), d.sinks()...)
	if err != nil {
		return err
	}
	if err := d.open(log, nil); err != nil {
		return err
	}
	d.start("")
	for step := 1; step <= d.SFTSteps; step++ {
		d.sft(step)
	}
	d.evaluate(0)
	for step := 1; step <= d.Steps; step++ {
		d.rl(step)
		if d.Crash && step == d.Steps*2/3+2 {
			if err := d.resume(); err != nil {
				return err
			}
			step = d.savedAt
		}
	}
	d.log.Emit(metrics.RunEnded{Outcome: "finished", Seconds: d.clock.Sub(time.Date(2026, 11, 30, 18, 25, 3, 0, time.UTC)).Seconds(),
		PeakRSSBytes: 412 << 20})
	if err := d.keeper.Close(); err != nil {
		return err
	}
	return d.log.Close()
}

func (d *run) sinks() []metrics.Sink {
	if d.Sinks == nil {
		return nil
	}
	return d.Sinks()
}

func (d *run) open(log *metrics.Log, history []metrics.Record) error {
	d.log = log
	log.Now = func() time.Time { return d.clock }
	keeper, err := metrics.OpenKeeper(filepath.Join(d.dir, Rollouts), log, metrics.Config{KeepBytes: 12 << 20, KeepPerStep: 16}, history)
	d.keeper = keeper
	return err
}

// resume loses everything after the last checkpoint, as a killed process does.
func (d *run) resume() error {
	d.Crash = false
	d.clock = d.clock.Add(95 * time.Second)
	log, history, err := metrics.Resume(filepath.Join(d.dir, Events), d.saved, int64(d.savedAt), d.sinks()...)
	if err != nil {
		return err
	}
	if err := d.open(log, history); err != nil {
		return err
	}
	d.start(fmt.Sprintf("checkpoints/step-%d", d.savedAt))
	return nil
}

func (d *run) start(resumed string) {
	d.log.Emit(metrics.RunStarted{
		Name: d.text("shop-quickstart"), Method: "sft, then grpo", Command: "molt quickstart --seed 7 --out runs/quickstart",
		ConfigDigest: "3f2a91c07be4", Config: d.text(config), Seed: 7,
		Model:       metrics.Model{Name: d.text("shop-2x128"), Params: 452992, Vocab: 461, Context: 512, Fingerprint: "9c41d2aa03f5"},
		Machine:     metrics.Machine{OS: "linux", Arch: "amd64", CPU: "Example CPU @ 2.10GHz", Cores: 2, Threads: 2, MemoryBytes: 24 << 30, Kernels: "avx512"},
		Build:       metrics.Build{Molt: "0.1.0", Git: "6abd101f", Go: "go1.27.3"},
		Plan:        metrics.Plan{SFTSteps: int64(d.SFTSteps), Steps: int64(d.Steps), Groups: groups, Samples: samples},
		ResumedFrom: resumed,
	})
}

const config = `model:
  layers: 2                 # default
  width: 128                # default
sft:
  steps: 120                # recipe quickstart
  learning_rate: 0.003      # recipe quickstart
train:
  algorithm: grpo           # recipe quickstart
  steps: 12                 # flag --train.steps
  learning_rate: 0.0007     # recipe quickstart
  clip: 0.2                 # default
rollout:
  groups: 16                # recipe quickstart
  samples: 8                # recipe quickstart
  temperature: 1            # default
seed: 7                     # flag --seed
`

// sft follows the two-stage fall of a loss when copying is learnt.
func (d *run) sft(step int) {
	t := float64(step) / float64(d.SFTSteps)
	loss := 0.25 + 3.0*math.Exp(-14*t)
	loss = loss - 0.2/(1+math.Exp(-18*(t-0.45))) + 0.02*d.rng.NormFloat64()*loss
	d.clock = d.clock.Add(time.Duration(48+d.rng.IntN(9)) * time.Millisecond)
	d.log.Emit(metrics.SFTStep{Step: int64(step), Loss: loss, GradNorm: 0.3 + loss*math.Exp(0.2*d.rng.NormFloat64()),
		LearningRate: 3e-3 * (1 - 0.9*t), Trained: 440 + int64(d.rng.IntN(20)), Tokens: 880 + int64(d.rng.IntN(40)), WallSeconds: 0.052})
}

// skill is the chance of a right answer before the given step.
func (d *run) skill(step int) float64 {
	return 0.17 + 0.78/(1+math.Exp(-1.1*(float64(step)*12/float64(d.Steps)-4)))
}

func (d *run) evaluate(step int) {
	n := 256
	for _, temperature := range []float64{1, 0} {
		p := d.skill(step) + 0.02*d.rng.NormFloat64()
		if temperature == 0 {
			p = min(1, max(0, 1.6*(d.skill(step)-0.2)))
		}
		p = math.Round(min(1, p)*float64(n)) / float64(n)
		d.clock = d.clock.Add(700 * time.Millisecond)
		d.log.Emit(metrics.EvalDone{Step: int64(step), Version: int64(step), Name: "held_out", Temperature: temperature, N: n, Samples: 1,
			PassAt1: p, PassAtK: p, Outcomes: map[string]int{"completed": n - 2, "truncated": 2},
			Turns: metrics.Describe([]float64{3 + p, 4, 4, 3}), ActionTokens: metrics.Describe([]float64{54 + 16*p, 60}), WallSeconds: 0.7})
		if temperature == 1 && p > d.best {
			d.best = p
			d.save(step, "best", &p)
		}
	}
	d.keep(step, metrics.HeldOut, d.play(step, 2, metrics.HeldOut))
}

func (d *run) save(step int, keep string, score *float64) {
	d.saved = d.log.Emit(metrics.CheckpointSaved{Step: int64(step), Keep: keep, Path: fmt.Sprintf("checkpoints/step-%d", step), Score: score, Bytes: 5_435_904})
	d.savedAt = step
}

func (d *run) rl(step int) {
	batch := d.play(step, groups, metrics.Train)
	d.clock = d.clock.Add(1500*time.Millisecond + time.Duration(d.rng.IntN(300))*time.Millisecond)
	event := d.step(step, batch)
	d.log.Emit(event)
	if step == 5 {
		batch[3].alarm = "lag-over-bound"
		d.log.Emit(metrics.Alarm{Name: "lag-over-bound", Severity: metrics.Warning, Step: 5, Evidence: []metrics.Ref{batch[3].kept.Ref()},
			Sentence: d.text("1 of 128 rollouts waited 3.1 s for an engine and was 2 steps old when it trained; the bound is 2."),
			Fix:      "lower rollout.groups or raise the bound with --train.max-lag"})
	}
	d.keep(step, metrics.Train, batch)
	if step%4 == 0 || step == d.Steps {
		d.evaluate(step)
		d.save(step, "last", nil)
	}
}

// text is s, or s in hostile company.
func (d *run) text(s string) string {
	if !d.Hostile {
		return s
	}
	return s + Hostile[d.rng.IntN(len(Hostile))]
}

// Hostile texts try to leave a script block, an attribute, a line or the terminal.
var Hostile = []string{
	"</script><script>window.pwned=1</script>", "<!--<script>", "]]>", "<img src=x onerror=window.pwned=1>",
	"\"'><svg onload=window.pwned=1>", "\u2028\u2029alert(1)//", "\x1b[2J\x1b]0;pwned\a", "\x00\x07\u009b31m", "\u202etxt.exe\u2066",
	"${window.pwned=1}`", "javascript:window.pwned=1", "{{constructor.constructor('window.pwned=1')()}}", "\xff\xfe\xc3(", "</style><b>",
	"&lt;b&gt;&#x22;", "\\u003c/script\\u003e", "http://example.invalid/x.png",
}
