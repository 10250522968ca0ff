// Checkpoints that were edited by somebody who made their checksums anew: what they say of the run must still fit together, or
// prompts would be trained on twice, or never.

package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molt/run/finetune"
	"molt/run/leg"
	"molt/run/problem"
	"molt/run/recipe"
)

// edit changes one value of a checkpoint's state, by its path, and makes the checksums anew. A nil value takes it away.
func edit(t *testing.T, dir, place string, value any) {
	t.Helper()
	var state map[string]any
	decode(t, read(t, filepath.Join(dir, "state.json")), &state)
	at, keys := state, strings.Split(place, ".")
	for _, key := range keys[:len(keys)-1] {
		next, ok := at[key].(map[string]any)
		if !ok {
			t.Fatalf("%s is not an object in %v", key, at)
		}
		at = next
	}
	last := keys[len(keys)-1]
	if _, there := at[last]; !there {
		t.Fatalf("no %s in %v", last, at)
	}
	at[last] = value
	if value == nil {
		delete(at, last)
	}
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "state.json", string(text))
	reseal(t, dir, "state.json", text)
}

// reseal puts the checksum of a file's new text into the manifest, and seals that.
func reseal(t *testing.T, dir, name string, text []byte) {
	t.Helper()
	raw := read(t, filepath.Join(dir, "molt-manifest.json"))
	body := string(raw[len(`{"manifest":`):strings.LastIndex(string(raw), `,"sha256":`)])
	from := strings.Index(body, `{"name":"`+name+`"`)
	to := from + strings.IndexByte(body[from:], '}') + 1
	entry, err := json.Marshal(struct {
		Name   string `json:"name"`
		Bytes  int    `json:"bytes"`
		SHA256 string `json:"sha256"`
	}{name, len(text), digest(text)})
	if err != nil {
		t.Fatal(err)
	}
	body = body[:from] + string(entry) + body[to:]
	write(t, dir, "molt-manifest.json", `{"manifest":`+body+`,"sha256":"`+digest([]byte(body))+`"}`)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// TestEditedCheckpoint: what does not fit together is refused before anything is trained.
func TestEditedCheckpoint(t *testing.T) {
	c := microRL(t)
	half(t, c, "2")
	for _, e := range []struct {
		place string
		value any
		why   string
	}{
		{"state", nil, "end of JSON"},
		{"state.progress", nil, "written after step 0"},
		{"state.train", nil, "0 trained on"},
		{"state.rollout", nil, "where the rollouts stand"},
		{"state.progress.step", 0, "after step 0"},
		{"state.progress.step", 3, "after step 3"},
		{"state.progress.step", -1, "after step -1"},
		{"state.progress.step", 1 << 60, "after step 1152921504606846976"},
		{"state.progress.step", "two", "cannot unmarshal"},
		{"state.progress.seq", -7, "after -7 events"},
		{"state.progress.seq", 1 << 60, "after 1152921504606846976 events"},
		{"state.progress.best.checkpoint", "../../elsewhere", "lie in"},
		{"state.progress.best.step", 99, "after step 99 is not among"},
		{"state.progress.scored", nil, "not among those"},
		{"state.train.version", 1000, "trained version 1000"},
		{"state.train.steps", -1, "-1 optimizer steps"},
		{"state.train.batches", 0, "0 trained on"},
		{"state.rollout.Sched.Next", 0, "of 0 dispatched"},
		{"state.rollout.Sched.Taken", 1, "1 batches were taken"},
		{"state.rollout.Sched.Sealed", 9, "9 batches made"},
		{"state.rollout.Sched.Serving", 0, "sampled from version 0"},
		{"state.rollout.Cursor.Sets", nil, "other prompt sets"},
		{"version", 1, "version 1 from"},
		{"optimizer_steps", -3, "-3 optimizer steps"},
	} {
		again := *c
		again.Ckpt.Path = filepath.Join(t.TempDir(), "run")
		if err := os.CopyFS(again.Ckpt.Path, os.DirFS(c.Ckpt.Path)); err != nil {
			t.Fatal(err)
		}
		edit(t, checkpointsOf(t, again.Ckpt.Path)[0], e.place, e.value)
		r, err := RL(t.Context(), &again, recipe.Settings(&again), leg.View{})
		if p, ok := errors.AsType[*problem.Problem](err); !ok || p.Code != problem.RunFolder || !strings.Contains(p.Why, e.why) {
			t.Errorf("%s %v: result %+v, error %v; want %q", e.place, e.value, r, err, e.why)
		}
	}
}

func TestEditedCheckpointOfSFT(t *testing.T) {
	c := microSFT(t)
	c.Train.Steps, c.Eval.Dataset, c.Eval.Steps = 8, c.Data.Dataset, 1
	ctx, view := interruptAt(t, "sft step 6/8")
	_, err := finetune.Run(ctx, c, recipe.Settings(c), view)
	wantProblem(t, err, problem.Interrupted, "")
	for place, why := range map[string]string{"state.step": "written after step 99", "state.seq": "after -9 events", "state.cursor.Sets": "other prompt sets"} {
		again := *c
		again.Ckpt.Path = filepath.Join(t.TempDir(), "run")
		if err := os.CopyFS(again.Ckpt.Path, os.DirFS(c.Ckpt.Path)); err != nil {
			t.Fatal(err)
		}
		edit(t, checkpointsOf(t, again.Ckpt.Path)[0], place, map[string]any{"state.step": 99, "state.seq": -9}[place])
		_, err := finetune.Run(t.Context(), &again, recipe.Settings(&again), leg.View{})
		wantProblem(t, err, problem.RunFolder, why)
	}
}
