// Ctrl-C once ends the context of a run: it finishes its step, saves, and goes on later as if nothing had been.

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"molt/metrics"
	"molt/run/finetune"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/weights"

	"go.uber.org/goleak"
)

// interruptAt makes a view that ends the context when the progress says the words.
func interruptAt(t *testing.T, words string) (context.Context, leg.View) {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, whenHeard(words, func() { cancel(errors.New("interrupted")) })
}

// whenHeard makes a view that calls do, within the run, when the progress says the words.
func whenHeard(words string, do func()) leg.View {
	return leg.View{Command: "molt again", Progress: metrics.NewTerminal(&listener{words: words, heard: do}, metrics.Style{})}
}

// listener waits for words.
type listener struct {
	words string
	heard func()
}

func (l *listener) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(l.words)) {
		l.heard()
	}
	return len(p), nil
}

func TestInterruptedRL(t *testing.T) {
	for _, mode := range []string{"sync", "one_step_ahead"} {
		t.Run(mode, func(t *testing.T) {
			c := microRL(t)
			c.Train.Mode, c.Train.Steps, c.Ckpt.SaveSteps, c.Eval.Steps = mode, 30, 100, 7
			runRL(t, c)
			want := tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir)

			again := *c
			again.Ckpt.Path = t.TempDir()
			for _, step := range []int{2, 6, 13, 14} {
				ctx, view := interruptAt(t, fmt.Sprintf("rl step %d/", step))
				result, err := RL(ctx, &again, recipe.Settings(&again), view)
				wantProblem(t, err, problem.Interrupted, "the same command resumes: molt again")
				if result != nil {
					t.Error("an interrupted run has a result")
				}
				nothingLost(t, again.Ckpt.Path, step)
			}
			runRL(t, &again)
			got := tracesOf(t, again.Ckpt.Path, folder.BestDir, folder.LastDir)
			withoutSaves(&want)
			withoutSaves(&got)
			got.same(t, want)
		})
	}
}

// nothingLost checks that the checkpoint holds the step that was interrupted, and that the last event says how to go on.
func nothingLost(t *testing.T, run string, step int) {
	t.Helper()
	records, err := metrics.Salvage(filepath.Join(run, folder.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	rl, _ := metrics.Last[metrics.StepDone](records)
	sft, _ := metrics.Last[metrics.SFTStep](records)
	saved, _ := metrics.Last[metrics.CheckpointSaved](records)
	if done := max(rl.Step, sft.Step); done != int64(step) || saved.Step != done {
		t.Errorf("stopped after step %d, saved step %d; want %d", done, saved.Step, step)
	}
	s, _, err := weights.Latest(filepath.Join(run, folder.CheckpointsDir))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if want := filepath.Base(saved.Path); s.Name != want {
		t.Errorf("the newest checkpoint is %s, the event names %s", s.Name, want)
	}
	ended, ok := metrics.Last[metrics.RunEnded](records)
	if !ok || ended.Outcome != "stopped" || ended.Resume != "molt again" {
		t.Errorf("the last event is %+v", ended)
	}
	if _, err := os.Stat(filepath.Join(run, folder.ReportFile)); err != nil {
		t.Error(err)
	}
}

// withoutSaves leaves out when checkpoints were written: an interrupt adds one.
func withoutSaves(tr *traces) {
	tr.Events = slices.DeleteFunc(tr.Events, func(e metrics.Event) bool { return e.Kind() == metrics.CheckpointSaved{}.Kind() })
}

func TestInterruptedSFT(t *testing.T) {
	c := microSFT(t)
	c.Train.Steps, c.Ckpt.SaveSteps = 60, 100
	c.Eval.Dataset, c.Eval.Steps = c.Data.Dataset, 1
	runSFT(t, c)
	want := tracesOf(t, c.Ckpt.Path, folder.FinalDir)

	again := *c
	again.Ckpt.Path = t.TempDir()
	for _, step := range []int{2, 11, 30} {
		ctx, view := interruptAt(t, fmt.Sprintf("sft step %d/60", step))
		_, err := finetune.Run(ctx, &again, recipe.Settings(&again), view)
		wantProblem(t, err, problem.Interrupted, "the same command resumes: molt again")
		nothingLost(t, again.Ckpt.Path, step)
	}
	runSFT(t, &again)
	got := tracesOf(t, again.Ckpt.Path, folder.FinalDir)
	withoutSaves(&want)
	withoutSaves(&got)
	got.same(t, want)
}

// TestInterruptedBeforeTheFirstStep has nothing to save and starts again.
func TestInterruptedBeforeTheFirstStep(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := microRL(t)
	_, err := RL(ctx, c, recipe.Settings(c), leg.View{Command: "molt again"})
	wantProblem(t, err, problem.Interrupted, "stopped before anything was written")
	if _, err := os.Stat(c.Ckpt.Path); err == nil {
		t.Error("its folder is there")
	}
	sft := microSFT(t)
	_, err = finetune.Run(ctx, sft, recipe.Settings(sft), leg.View{Command: "molt again"})
	wantProblem(t, err, problem.Interrupted, "stopped before anything was written")
	runRL(t, c)
	_, err = Eval(ctx, c, leg.View{})
	wantProblem(t, err, problem.Interrupted, "stopped before anything was written")
}

// TestNoGoroutineIsLeftBehind, whichever way a run ends.
func TestNoGoroutineIsLeftBehind(t *testing.T) {
	c := microRL(t)
	c.Train.Mode = "one_step_ahead"
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
		_, err := RL(ctx, c, recipe.Settings(c), leg.View{})
		cancel()
		if err == nil || strings.Contains(err.Error(), "finished") {
			return
		}
	}
}
