package recipe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molt/internal/spell"
)

func TestRecipe(t *testing.T) {
	cfg := Defaults()
	text := "rollout:\n  batch_size: 4\n  n-samples-per-prompt: 2\nactor:\n  adam: {lr: 7e-4, betas: [0.9, 0.99]}\ndata:\n  prompt_dataset: [a.jsonl, b.jsonl]\n"
	if err := apply("r.yaml", text, Settings(&cfg)); err != nil {
		t.Fatal(err)
	}
	if cfg.Rollout.BatchSize != 4 || cfg.Rollout.Samples != 2 || cfg.Actor.Adam.LR != 7e-4 || cfg.Actor.Adam.Betas[1] != 0.99 || cfg.Data.Prompts[1] != "b.jsonl" {
		t.Errorf("got %+v", cfg)
	}
	if s := Find(Settings(&cfg), "rollout.batch_size"); s.Source != "default" {
		t.Errorf("a new table starts from default, got %q", s.Source)
	}
}

func TestRecipeRefuses(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"unknown key", "train:\n  sede: 1\n", `r.yaml:2:3: unknown key "train.sede"; did you mean train.seed?`},
		{"unknown section", "trian:\n  seed: 1\n", `r.yaml:1:1: unknown key "trian"`},
		{"twice", "train:\n  seed: 1\n  seed: 2\n", `r.yaml:3:3: not valid YAML: mapping key "seed" already defined`},
		{"twice in two spellings", "rollout:\n  batch_size: 1\n  batch-size: 2\n", `r.yaml:3:3: key "rollout.batch_size" appears twice`},
		{"wrong type", "train:\n  seed: soon\n", `train.seed wants a whole number >= 0, not "soon"`},
		{"out of range", "rollout:\n  top_p: 2\n", "rollout.top_p wants (0,1], not 2"},
		{"not a number", "actor:\n  adam:\n    lr: .nan\n", "actor.adam.lr wants a finite number"},
		{"a list where one value belongs", "train:\n  seed: [1, 2]\n", "train.seed wants one value"},
		{"a value where a section belongs", "train: 3\n", "train wants keys with values"},
		{"tab", "train:\n\tseed: 1\n", "r.yaml:2:1: not valid YAML"},
		{"broken", "train: [1", "not valid YAML"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := Defaults()
			err := apply("r.yaml", c.text, Settings(&cfg))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestRecipeReportsAllProblemsAtOnce(t *testing.T) {
	cfg := Defaults()
	err := apply("r.yaml", "train:\n  sede: 1\nrollout:\n  top_p: 7\n", Settings(&cfg))
	if err == nil || !strings.Contains(err.Error(), "r.yaml:2:3") || !strings.Contains(err.Error(), "r.yaml:4:10") {
		t.Errorf("got %v; want both lines named", err)
	}
}

// TestHostileRecipes: whatever a megabyte says, it is refused at once and in few words.
func TestHostileRecipes(t *testing.T) {
	many := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i))
		}
		return b.String()
	}
	for name, c := range map[string]struct{ text, want string }{
		"brackets":      {strings.Repeat("[", 200_000), "nested more than 16 deep"},
		"braces":        {strings.Repeat("{a: ", 50_000), "nested more than 16 deep"},
		"dashes":        {strings.Repeat("- ", 200_000), "nested more than 16 deep"},
		"question":      {strings.Repeat("? ", 200_000), "a key marked with ?"},
		"indents":       {many(1000, func(i int) string { return strings.Repeat(" ", i) + "a:\n" }), "nested more than 16 deep"},
		"documents":     {strings.Repeat("---\ntrain:\n", 50_000), "a second document"},
		"unknown keys":  {many(60_000, func(i int) string { return fmt.Sprintf("key%d: 1\n", i) }), "more than 50000 words and signs"},
		"some of them":  {many(61, func(i int) string { return fmt.Sprintf("key%d: 1\n", i) }), "and 41 more"},
		"wrong values":  {"actor:\n  adam:\n    betas: [" + strings.Repeat("x,", 20_000) + "x]\n", "wants a finite number"},
		"a long line":   {"train: {seed: 1, " + strings.Repeat("x", 500_000) + "}", "unknown key"},
		"an anchor":     {"train:\n  seed: &x 1\n", `r.yaml:2:9: an anchor ("&")`},
		"an alias":      {"train:\n  seed: *x\n", `r.yaml:2:9: an alias ("*")`},
		"a tag":         {"train:\n  seed: !!int 1\n", `r.yaml:2:9: a tag ("!!int")`},
		"a merge key":   {"train:\n  <<: 1\n", "a merge key"},
		"laughs":        {"a: &a [x,x]\nb: &b [*a,*a]\n", "an anchor"},
		"a directive":   {"%YAML 1.2\n---\ntrain:\n", "a directive"},
		"two documents": {"train:\n  seed: 1\n---\ntrain:\n  seed: 2\n", "a second document"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Defaults()
			begun := time.Now()
			err := apply("r.yaml", c.text, Settings(&cfg))
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", spell.Cut(fmt.Sprint(err), 300), c.want)
			}
			if len(err.Error()) > 10_000 {
				t.Errorf("%d bytes of complaint", len(err.Error()))
			}
		})
	}
}

// TestWhatRecipesMayHold: brackets, stars and ampersands in text, comments, one document mark.
func TestWhatRecipesMayHold(t *testing.T) {
	cfg := Defaults()
	text := "# a comment\n---\ndata:\n  prompt_dataset: [\"a&b.jsonl\", 'c*.jsonl']\n  input_key: a[[[[[[[[[[[[[[[[[[b\n" +
		"actor:\n  freeze_params: [\"*norm*\", \"model.layers.[0-3].*\"]\n  lr_scale:\n    - model.embed_tokens.*=0.1\n    - x=2\n"
	if err := apply("r.yaml", text, Settings(&cfg)); err != nil {
		t.Fatal(err)
	}
	if cfg.Data.Prompts[1] != "c*.jsonl" || cfg.Actor.Freeze[1] != "model.layers.[0-3].*" || len(cfg.Actor.LRScale) != 2 || len(cfg.Data.InputKey) != 20 {
		t.Errorf("got %+v", cfg)
	}
}

func TestMissingRecipe(t *testing.T) {
	cfg := Defaults()
	err := Read(filepath.Join(t.TempDir(), "none.yaml"), Settings(&cfg))
	if err == nil || !strings.Contains(err.Error(), "no such file or folder") {
		t.Errorf("got %v", err)
	}
}

// TestWrittenRecipeRunsAgain: config.yaml of a run, given as a recipe, sets every value as it was.
func TestWrittenRecipeRunsAgain(t *testing.T) {
	cfg := Defaults()
	settings := Settings(&cfg)
	for name, text := range map[string]string{"rollout.batch_size": "5", "data.prompt_dataset": "a.jsonl,b \"c\".jsonl", "actor.adam.lr": "0.0007", "ckpt.path": "runs/x: #1"} {
		if err := Find(settings, name).Set(text, "flag"); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(Write(settings)), 0o644); err != nil {
		t.Fatal(err)
	}
	again := Defaults()
	if err := Read(path, Settings(&again)); err != nil {
		t.Fatal(err)
	}
	for i, s := range Settings(&again) {
		if s.Text() != settings[i].Text() {
			t.Errorf("%s: wrote %q, read %q", s.Name, settings[i].Text(), s.Text())
		}
	}
}

func FuzzRecipe(f *testing.F) {
	f.Add("train:\n  seed: 1\n")
	f.Add("a: &x [*x]\n")
	f.Add("{\"train\": {\"seed\": 3}}")
	f.Fuzz(func(t *testing.T, text string) {
		cfg := Defaults()
		_ = apply("r.yaml", text, Settings(&cfg))
	})
}
