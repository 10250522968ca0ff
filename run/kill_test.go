// kill -9 at any moment, and the same command again, until the run is finished: nothing of the result may differ from a
// run that nobody killed.

package run

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"molt/metrics"
	"molt/run/folder"
	"molt/run/recipe"
)

func TestKilledRL(t *testing.T) {
	slow(t)
	killRL(t, microRL(t))
}

// TestKilledOneStepAhead holds a batch that was made and not trained on in every checkpoint.
func TestKilledOneStepAhead(t *testing.T) {
	slow(t)
	c := microRL(t)
	c.Train.Mode = "one_step_ahead"
	killRL(t, c)
}

// TestKilledEpisodes ends with the prompts, saves only every other step, loses rollouts, and adapts the weight of the KL.
func TestKilledEpisodes(t *testing.T) {
	slow(t)
	c := microRL(t)
	c.Train.Steps, c.Train.Episodes, c.Ckpt.SaveSteps, c.Eval.Steps = 0, 2, 2, 0
	c.Agent.Name, c.Data.Prompts = "faulty", rowsOf(t, 9, "sometimes")
	c.Algo.KL = recipe.KLConfig{Coef: 0.1, UseLoss: true, Estimator: "k3", Target: 0.01, Horizon: 50}
	killRL(t, c)
}

// TestKilledQuickstart kills the real thing, MOLT_KILLS times. It takes minutes.
func TestKilledQuickstart(t *testing.T) {
	if os.Getenv("MOLT_KILLS") == "" {
		t.Skip("set MOLT_KILLS to kill the quickstart's reinforcement learning so often")
	}
	q := &quickstart{QuickstartConfig: QuickstartConfig{Out: t.TempDir()}}
	for _, stage := range []func(context.Context) error{q.write, q.imitate} {
		if err := stage(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c := q.rlConfig()
	killRL(t, &c)
}

// killRL runs c whole, then killed and resumed until it is finished, again and again. A run that is killed at moments spread
// over a quarter of its time is killed several times before its end.
func killRL(t *testing.T, c *recipe.Config) {
	t.Helper()
	again := *c
	begun := time.Now()
	if out, err := (job{RL: c}).start(t).output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir)
	if bytes.Equal(want.Weights[folder.LastDir], read(t, filepath.Join(c.Model.Path, "model.safetensors"))) {
		t.Fatal("the run learned nothing, so it shows nothing")
	}
	k := newKiller(t, max(time.Since(begun)/4, 100*time.Millisecond))
	for k.done < k.wanted {
		again.Ckpt.Path = t.TempDir()
		k.until(again.Ckpt.Path, job{RL: &again})
		tracesOf(t, again.Ckpt.Path, folder.BestDir, folder.LastDir).same(t, want)
	}
	k.report()
}

func TestKilledSFT(t *testing.T) {
	slow(t)
	killSFT(t, microSFT(t))
}

// killSFT is killRL for fine-tuning.
func killSFT(t *testing.T, c *recipe.SFTConfig) {
	t.Helper()
	again := *c
	begun := time.Now()
	if out, err := (job{SFT: c}).start(t).output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := tracesOf(t, c.Ckpt.Path, folder.FinalDir)
	k := newKiller(t, time.Since(begun))
	for k.done < k.wanted {
		again.Ckpt.Path = t.TempDir()
		k.until(again.Ckpt.Path, job{SFT: &again})
		tracesOf(t, again.Ckpt.Path, folder.FinalDir).same(t, want)
	}
	k.report()
}

// killer starts runs and kills them: at random moments, or soon after a file appears that is being written.
type killer struct {
	t      *testing.T
	random *rand.Rand
	span   time.Duration // of a run that nobody kills
	wanted int           // kills

	done    int
	inside  int // of these, between the first and the last event of a leg
	resumed int // of these, in a leg that continued a checkpoint
	writing int // of these, while a checkpoint was being written
}

// newKiller kills some times, or MOLT_KILLS times.
func newKiller(t *testing.T, span time.Duration) *killer {
	t.Helper()
	wanted := 8
	if text := os.Getenv("MOLT_KILLS"); text != "" {
		var err error
		if wanted, err = strconv.Atoi(text); err != nil || wanted < 1 {
			t.Fatalf("MOLT_KILLS=%q; want a number above 0", text)
		}
	}
	return &killer{t: t, random: rand.New(rand.NewPCG(1, 2)), span: span, wanted: wanted}
}

// until runs the job in the folder until it is finished.
func (k *killer) until(dir string, j job) {
	k.t.Helper()
	for {
		p := j.start(k.t)
		if k.done < k.wanted {
			k.wait(dir, p)
			_ = p.Process.Kill() // it may have ended
		}
		out, err := p.output()
		if finished(dir) {
			return
		}
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.String() != "signal: killed" {
			k.t.Fatalf("the run ended by itself: %v: %s", err, out)
		}
		k.done++
		k.witness(dir)
	}
}

func finished(dir string) bool {
	r, err := folder.ResultOf[RLResult](dir)
	return err == nil && r != nil
}

// wait returns at the moment for the kill, or when the process has ended.
func (k *killer) wait(dir string, p *process) {
	limit := time.After(time.Duration(k.random.Float64() * float64(k.span)))
	sight := []string{"", folder.CheckpointsDir + "/.step-*.partial", ".*.partial", ".*.tmp"}[k.random.IntN(4)]
	skip, seen := k.random.IntN(4), false
	tick := time.NewTicker(50 * time.Microsecond)
	defer tick.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-limit:
			return
		case <-tick.C:
		}
		found, _ := filepath.Glob(filepath.Join(dir, sight))
		if appeared := sight != "" && len(found) > 0 && !seen; appeared {
			if skip--; skip < 0 {
				limit, sight = time.After(time.Duration(k.random.IntN(2000))*time.Microsecond), ""
			}
		}
		seen = len(found) > 0
	}
}

// witness notes what the killed leg was doing. After a kill before or behind a leg's events later ones are spread wider.
func (k *killer) witness(dir string) {
	before := k.inside
	defer func() {
		if k.inside == before {
			k.span += k.span / 2
		}
	}()
	records, err := metrics.Salvage(filepath.Join(dir, folder.EventsFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		k.t.Fatal(err)
	}
	if n := len(records); n > 0 {
		if _, over := records[n-1].Event.(metrics.RunEnded); !over {
			k.inside++
		}
	}
	if e, ok := metrics.Last[metrics.RunStarted](records); ok && e.ResumedFrom != "" {
		k.resumed++
	}
	if partial, _ := filepath.Glob(filepath.Join(dir, folder.CheckpointsDir, ".step-*.partial")); len(partial) > 0 {
		k.writing++
	}
}

// report fails when the kills hit nothing.
func (k *killer) report() {
	k.t.Helper()
	k.t.Logf("%d kills: %d inside the run, %d of a resumed run, %d while a checkpoint was being written", k.done, k.inside, k.resumed, k.writing)
	if k.inside == 0 || k.done >= 20 && (k.resumed == 0 || k.writing == 0) {
		k.t.Error("the kills hit nothing")
	}
}
