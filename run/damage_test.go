// Damage is found before it is used: the checkpoint before it takes over, with an alarm, and the result is the same.

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"molt/metrics"
	"molt/run/finetune"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/weights"
)

// damages are what can befall a checkpoint.
var damages = map[string]func(t *testing.T, dir string){
	"cut tensors":      func(t *testing.T, dir string) { cut(t, filepath.Join(dir, "tensors.safetensors"), 0.7) },
	"empty tensors":    func(t *testing.T, dir string) { cut(t, filepath.Join(dir, "tensors.safetensors"), 0) },
	"one bit":          func(t *testing.T, dir string) { flip(t, filepath.Join(dir, "tensors.safetensors"), 0.6) },
	"one bit of state": func(t *testing.T, dir string) { flip(t, filepath.Join(dir, "state.json"), 0.5) },
	"one bit of the manifest": func(t *testing.T, dir string) {
		flip(t, filepath.Join(dir, "molt-manifest.json"), 0.5)
	},
	"no manifest":    func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "molt-manifest.json")) },
	"empty manifest": func(t *testing.T, dir string) { cut(t, filepath.Join(dir, "molt-manifest.json"), 0) },
	"no state":       func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "state.json")) },
	"one file more":  func(t *testing.T, dir string) { write(t, dir, "extra.txt", "x") },
	"empty folder": func(t *testing.T, dir string) {
		for _, name := range []string{"molt-manifest.json", "state.json", "tensors.safetensors"} {
			remove(t, filepath.Join(dir, name))
		}
	},
	"another's tensors": func(t *testing.T, dir string) {
		older, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "step-*", "tensors.safetensors"))
		if err != nil || len(older) < 2 {
			t.Fatalf("%d checkpoints, %v", len(older), err)
		}
		write(t, dir, "tensors.safetensors", string(read(t, older[0])))
	},
}

func cut(t *testing.T, path string, share float64) {
	t.Helper()
	if err := os.Truncate(path, int64(share*float64(len(read(t, path))))); err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, path string, place float64) {
	t.Helper()
	data := read(t, path)
	data[int(place*float64(len(data)))] ^= 4
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// checkpointsOf lists the checkpoints of a run, the newest first.
func checkpointsOf(t *testing.T, run string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(run, folder.CheckpointsDir, "step-*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	slices.Reverse(found)
	return found
}

// half runs to the step and stops there, as an interrupted run does.
func half(t *testing.T, c *recipe.Config, step string) {
	t.Helper()
	ctx, view := interruptAt(t, "rl step "+step+"/")
	_, err := RL(ctx, c, recipe.Settings(c), view)
	wantProblem(t, err, problem.Interrupted, "")
}

func TestDamagedCheckpointOfRL(t *testing.T) {
	slow(t)
	c := microRL(t)
	c.Train.Mode = "one_step_ahead"
	runRL(t, c)
	want := tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir)
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			again := *c
			again.Ckpt.Path = t.TempDir()
			half(t, &again, "3")
			damage(t, checkpointsOf(t, again.Ckpt.Path)[0])
			runRL(t, &again)
			got := tracesOf(t, again.Ckpt.Path, folder.BestDir, folder.LastDir)
			if n := len(got.Events); !slices.ContainsFunc(got.Events, isDamageAlarm) {
				t.Errorf("no alarm among %d events", n)
			}
			got.Events = slices.DeleteFunc(got.Events, isDamageAlarm)
			got.same(t, want)
		})
	}
}

func isDamageAlarm(e metrics.Event) bool {
	a, ok := e.(metrics.Alarm)
	return ok && a.Name == "damaged-checkpoint" && strings.Contains(a.Sentence, "step-")
}

func TestDamagedCheckpointOfSFT(t *testing.T) {
	slow(t)
	c := microSFT(t)
	c.Train.Steps = 8
	c.Eval.Dataset, c.Eval.Steps = c.Data.Dataset, 1
	runSFT(t, c)
	want := tracesOf(t, c.Ckpt.Path, folder.FinalDir)
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			again := *c
			again.Ckpt.Path = t.TempDir()
			ctx, view := interruptAt(t, "sft step 6/8")
			_, err := finetune.Run(ctx, &again, recipe.Settings(&again), view)
			wantProblem(t, err, problem.Interrupted, "")
			damage(t, checkpointsOf(t, again.Ckpt.Path)[0])
			runSFT(t, &again)
			got := tracesOf(t, again.Ckpt.Path, folder.FinalDir)
			if !slices.ContainsFunc(got.Events, isDamageAlarm) {
				t.Error("no alarm")
			}
			got.Events = slices.DeleteFunc(got.Events, isDamageAlarm)
			got.same(t, want)
		})
	}
}

// TestEveryCheckpointDamaged: there is nothing to go on from, and starting over in silence would hide it.
func TestEveryCheckpointDamaged(t *testing.T) {
	c := microRL(t)
	half(t, c, "3")
	for _, dir := range checkpointsOf(t, c.Ckpt.Path) {
		flip(t, filepath.Join(dir, "tensors.safetensors"), 0.9)
	}
	before := listing(t, c.Ckpt.Path)
	_, err := RL(t.Context(), c, recipe.Settings(c), leg.View{})
	wantProblem(t, err, problem.RunFolder, "no checkpoint can be trusted")
	if after := listing(t, c.Ckpt.Path); !slices.Equal(before, after) {
		t.Errorf("the folder held %q, and now %q", before, after)
	}
}

// listing names every file below dir.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestTwoValidCheckpointsAreKept: one that is damaged must leave another, whatever the budget says about numbers.
func TestTwoValidCheckpointsAreKept(t *testing.T) {
	c := microRL(t)
	c.Ckpt.MaxNum, c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = 2, nil, 0, false
	half(t, c, "3")
	if found := checkpointsOf(t, c.Ckpt.Path); len(found) != 2 {
		t.Fatalf("kept %q", found)
	}
	flip(t, filepath.Join(checkpointsOf(t, c.Ckpt.Path)[0], "state.json"), 0.3)
	runRL(t, c)
}

// TestDamagedBestCheckpoint: the best of the weights that can be read take their place, and an alarm says so.
func TestDamagedBestCheckpoint(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir string){
		"one bit": func(t *testing.T, dir string) { flip(t, filepath.Join(dir, "tensors.safetensors"), 0.5) },
		"gone": func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := microRL(t)
			c.Actor.Adam.LR = 0 // every score is the first one, which stays the best
			half(t, c, "3")
			damage(t, filepath.Join(c.Ckpt.Path, folder.CheckpointsDir, "step-000000"))
			result := runRL(t, c)
			if names := alarms(t, c.Ckpt.Path); !slices.Contains(names, "best-checkpoint-damaged") || result.BestStep != 2 {
				t.Errorf("raised %q, best step %d; want 2, whose score is as good", names, result.BestStep)
			}
			if _, err := models.Open(filepath.Join(c.Ckpt.Path, folder.BestDir)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDamagedEvents: what was measured cannot be read. Training could go on without, but only when the user says so.
func TestDamagedEvents(t *testing.T) {
	c := microRL(t)
	half(t, c, "3")
	events := filepath.Join(c.Ckpt.Path, folder.EventsFile)
	data := read(t, events)
	data[len(data)/2] = 0
	if err := os.WriteFile(events, data, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := RL(t.Context(), c, recipe.Settings(c), leg.View{})
	line := fmt.Sprint(1 + bytes.Count(data[:len(data)/2], []byte("\n")))
	wantProblem(t, err, problem.RunFolder, events+":"+line+": this line of the events is damaged")
	fix := regexp.MustCompile("`(sed .*)`").FindStringSubmatch(err.Error())
	if fix == nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-c", fix[1]).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", fix[1], err, out)
	}
	runRL(t, c)
}

// TestEventsGone: the run goes on from its checkpoint, and says what its report misses.
func TestEventsGone(t *testing.T) {
	c := microRL(t)
	half(t, c, "2")
	remove(t, filepath.Join(c.Ckpt.Path, folder.EventsFile))
	runRL(t, c)
	records, damage := metrics.Salvage(filepath.Join(c.Ckpt.Path, folder.EventsFile))
	steps, told := 0, fmt.Sprint(damage)
	for range metrics.Of[metrics.StepDone](records) {
		steps++
	}
	for _, n := range metrics.Of[metrics.Note](records) {
		told += n.Text
	}
	for _, a := range metrics.Of[metrics.Alarm](records) {
		told += a.Name
	}
	for _, want := range []string{"missing before line 1", "missing at the end of the file", "events-damaged"} {
		if !strings.Contains(told, want) || steps != 2 {
			t.Errorf("%d steps, told %q; want %q", steps, told, want)
		}
	}
}

// TestEventsDamagedWhileItRuns: the training is done, so it counts; the report holds what can be read, and an alarm names the rest.
func TestEventsDamagedWhileItRuns(t *testing.T) {
	spoil := func(run string) leg.View {
		return whenHeard("step 2/", func() {
			f, err := os.OpenFile(filepath.Join(run, folder.EventsFile), os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				_, err = f.WriteString("garbage \xff\x1b[2J\n")
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	check := func(run string) {
		t.Helper()
		records, damage := metrics.Salvage(filepath.Join(run, folder.EventsFile))
		if damage == nil || !strings.Contains(damage.Error(), "is not an event") {
			t.Errorf("damage %v", damage)
		}
		told := ""
		for _, a := range metrics.Of[metrics.Alarm](records) {
			told += a.Name + ": " + a.Sentence
		}
		if !strings.HasPrefix(told, "events-damaged: ") || !strings.Contains(told, "is not an event") || strings.Contains(told, "\x1b") || !utf8.ValidString(told) {
			t.Errorf("alarms %q", told)
		}
		if page := read(t, filepath.Join(run, folder.ReportFile)); !bytes.Contains(page, []byte("events-damaged")) || !bytes.Contains(page, []byte(`"finished"`)) {
			t.Error("the report does not tell of the damage, or of the end")
		}
	}
	rl := microRL(t)
	r, err := RL(t.Context(), rl, recipe.Settings(rl), spoil(rl.Ckpt.Path))
	if err != nil {
		t.Fatal(err)
	}
	check(rl.Ckpt.Path)
	if _, err := models.Open(r.Checkpoint); err != nil {
		t.Error(err)
	}
	sft := microSFT(t)
	sft.Eval.Dataset, sft.Eval.Steps = sft.Data.Dataset, 1
	if _, err := finetune.Run(t.Context(), sft, recipe.Settings(sft), spoil(sft.Ckpt.Path)); err != nil {
		t.Fatal(err)
	}
	check(sft.Ckpt.Path)
}

// TestDamagedRollouts: they are for people to read, and no reason to fail.
func TestDamagedRollouts(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string){
		"gone": remove, "cut": func(t *testing.T, path string) { cut(t, path, 0.5) }, "one bit": func(t *testing.T, path string) { flip(t, path, 0.2) },
	} {
		t.Run(name, func(t *testing.T) {
			c := microRL(t)
			half(t, c, "3")
			damage(t, filepath.Join(c.Ckpt.Path, folder.RolloutsFile))
			runRL(t, c)
			if names := alarms(t, c.Ckpt.Path); !slices.Contains(names, "kept-rollouts-damaged") {
				t.Errorf("raised %q", names)
			}
		})
	}
}

// TestStrayFilesOfAKilledWriter are swept when the run is resumed.
func TestStrayFilesOfAKilledWriter(t *testing.T) {
	c := microRL(t)
	half(t, c, "2")
	write(t, c.Ckpt.Path, ".report.html.123.tmp", "half a rep")
	write(t, c.Ckpt.Path, ".run.json.9.tmp", "{")
	partial := filepath.Join(c.Ckpt.Path, folder.CheckpointsDir, ".step-000003.partial")
	if err := os.Mkdir(partial, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, partial, "tensors.safetensors", "half")
	write(t, filepath.Join(c.Ckpt.Path, folder.CheckpointsDir), ".state.json.1.tmp", "{")
	if err := os.MkdirAll(filepath.Join(c.Ckpt.Path, criticsDir, ".step-000001.partial", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(c.Ckpt.Path, ".best.partial"), 0o755); err != nil {
		t.Fatal(err)
	}
	runRL(t, c)
	for _, name := range listing(t, c.Ckpt.Path) {
		if base := filepath.Base(name); strings.HasPrefix(base, ".") {
			t.Errorf("%s was left behind", base)
		}
	}
}

// TestFinishedRunHoldsWhatItSays: the manifest of every exported folder fits its files.
func TestFinishedRunHoldsWhatItSays(t *testing.T) {
	c := microRL(t)
	runRL(t, c)
	for _, name := range []string{folder.BestDir, folder.LastDir} {
		m, err := models.Open(filepath.Join(c.Ckpt.Path, name))
		if err != nil {
			t.Fatal(err)
		}
		if m.Renderer == nil || m.Tok == nil {
			t.Errorf("%s lost its texts", name)
		}
	}
	s, warnings, err := weights.Latest(filepath.Join(c.Ckpt.Path, folder.CheckpointsDir))
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	s.Close()
	if r, err := folder.ResultOf[RLResult](c.Ckpt.Path); err != nil || r.Steps != 4 {
		t.Errorf("result %+v, %v", r, err)
	}
	_, err = RL(context.Background(), c, recipe.Settings(c), leg.View{})
	wantProblem(t, err, problem.RunFolder, "the run here is finished")
}
