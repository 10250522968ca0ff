// Bad input, refused before anything is written: one sentence that names the file, what is wrong in it, and the fix.

package run

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molt/run/finetune"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/models"
	"molt/run/problem"
	"molt/run/recipe"
)

// refusal is what a spoilt run must say.
type refusal struct {
	code problem.Code
	says []string
}

// checkRefused runs both ways to start, and checks that no run folder was made.
func checkRefused(t *testing.T, run string, errs []error, want refusal) {
	t.Helper()
	for _, err := range errs {
		p, ok := errors.AsType[*problem.Problem](err)
		if !ok || p.Code != want.code || p.Fix == "" {
			t.Fatalf("got %v, want %s with a fix", err, want.code)
		}
		for _, text := range want.says {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%v\ndoes not say %q", err, text)
			}
		}
	}
	if _, err := os.Stat(run); err == nil {
		t.Error("the run folder was made")
	}
}

func TestRefusedByRL(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, c *recipe.Config) refusal{
		"truncated weights": func(t *testing.T, c *recipe.Config) refusal {
			c.Model.Path = copyModel(t)
			cut(t, filepath.Join(c.Model.Path, "model.safetensors"), 0.8)
			return refusal{problem.Model, []string{"model.safetensors"}}
		},
		"NaN weights": func(t *testing.T, c *recipe.Config) refusal {
			c.Model.Path = copyModel(t)
			remove(t, filepath.Join(c.Model.Path, "molt-manifest.json"))
			path := filepath.Join(c.Model.Path, "model.safetensors")
			data := read(t, path)
			copy(data[len(data)-4:], []byte{0, 0, 0xc0, 0x7f})
			write(t, c.Model.Path, "model.safetensors", string(data))
			return refusal{problem.Model, []string{c.Model.Path, "model.norm.weight", "NaN"}}
		},
		"one bit of the weights": func(t *testing.T, c *recipe.Config) refusal {
			c.Model.Path = copyModel(t)
			flip(t, filepath.Join(c.Model.Path, "model.safetensors"), 0.9)
			return refusal{problem.Model, []string{"model.safetensors", "molt-manifest.json"}}
		},
		"no weights": func(t *testing.T, c *recipe.Config) refusal {
			c.Model.Path = copyModel(t)
			remove(t, filepath.Join(c.Model.Path, "model.safetensors"))
			return refusal{problem.Model, []string{"model.safetensors"}}
		},
		"no model": func(t *testing.T, c *recipe.Config) refusal {
			c.Model.Path = filepath.Join(t.TempDir(), "nowhere")
			return refusal{problem.Model, []string{c.Model.Path, "there is no such model"}}
		},
		"no tokenizer": func(t *testing.T, c *recipe.Config) refusal {
			c.Model.Path = copyModel(t)
			forgetManifest(t, c.Model.Path)
			remove(t, filepath.Join(c.Model.Path, "tokenizer.json"))
			return refusal{problem.Tokenizer, []string{"tokenizer.json"}}
		},
		"another's tokenizer": func(t *testing.T, c *recipe.Config) refusal {
			c.Model.Path = copyModel(t)
			forgetManifest(t, c.Model.Path)
			larger := microModel(filepath.Join(t.TempDir(), "larger"))
			larger.VocabSize, larger.Texts = 420, demoTexts(3)
			if err := models.Init(larger); err != nil {
				t.Fatal(err)
			}
			write(t, c.Model.Path, "tokenizer.json", string(read(t, filepath.Join(larger.Out, "tokenizer.json"))))
			return refusal{problem.Model, []string{"tokenizer.json", "embedding"}}
		},
		"template that raises": func(t *testing.T, c *recipe.Config) refusal {
			c.Model.Path = copyModel(t)
			forgetManifest(t, c.Model.Path)
			write(t, c.Model.Path, "chat_template.jinja", "{{ raise_exception('no tools, please') }}")
			return refusal{problem.Template, []string{c.Model.Path, "no tools, please"}}
		},
		"template that raises for one row": func(t *testing.T, c *recipe.Config) refusal {
			c.Model.Path = copyModel(t)
			forgetManifest(t, c.Model.Path)
			path := filepath.Join(c.Model.Path, "chat_template.jinja")
			write(t, c.Model.Path, "chat_template.jinja",
				"{% if messages[0].content == 'what 4?' %}{{ raise_exception('not that one') }}{% endif %}"+string(read(t, path)))
			return refusal{problem.Template, []string{"prompts.jsonl: row 5", "not that one"}}
		},
		"template that never ends a turn": func(t *testing.T, c *recipe.Config) refusal {
			c.Model.Path = copyModel(t)
			forgetManifest(t, c.Model.Path)
			write(t, c.Model.Path, "chat_template.jinja", "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: ")
			return refusal{problem.Template, []string{c.Model.Path, "control token"}}
		},
		"no template": func(t *testing.T, c *recipe.Config) refusal {
			c.Model.Path = copyModel(t)
			forgetManifest(t, c.Model.Path)
			remove(t, filepath.Join(c.Model.Path, "chat_template.jinja"))
			return refusal{problem.Template, []string{c.Model.Path, "chat_template.jinja"}}
		},
		"missing key":        data(`{"input": "a?", "label": "1"}`+"\n"+`{"inptu": "b?", "label": "2"}`+"\n", ":2", "input"),
		"missing label":      data(`{"input": "a?"}`+"\n", ":1", "label"),
		"not UTF-8":          data("{\"input\": \"a\xff?\", \"label\": \"1\"}\n", ":1", "UTF-8"),
		"empty":              data("", "empty"),
		"only blank lines":   data("\n\n", "no rows"),
		"no JSON":            data(`{"input": "a?", "label": "1"}`+"\nhello\n", ":2"),
		"a list":             data(`[1, 2]`+"\n", "array"),
		"cut last line":      data(`{"input": "a?", "label": "1"}`+"\n"+`{"input": "b?", "lab`, ":2"),
		"duplicate keys":     data(`{"input": "a?", "input": "b?", "label": "1"}`+"\n", ":1", "input"),
		"not text":           data(`{"input": 7, "label": "1"}`+"\n", ":1", "input"),
		"not messages":       data(`{"input": [{"role": "oracle", "content": "x"}], "label": "1"}`+"\n", "row 1", "oracle"),
		"too long":           data(`{"input": "`+strings.Repeat("long ", 60)+`", "label": "1"}`+"\n", "row 1", "tokens", "--rollout.max_len"),
		"too deep":           data(`{"input": "a?", "label": `+strings.Repeat("[", 100000)+strings.Repeat("]", 100000)+"}\n", ":1"),
		"byte order mark":    data("\ufeff"+`{"inptu": "a?", "label": "1"}`+"\n", "byte order mark"),
		"a number too large": data(`{"input": "a?", "label": "1", "x": 1e400, "x": 2}`+"\n", ":1"),
		"duplicate ids": func(t *testing.T, c *recipe.Config) refusal {
			c.Data.IDKey = "id"
			text := `{"id": "a", "input": "a?", "label": "1"}` + "\n" + `{"id": "a", "input": "b?", "label": "1"}` + "\n"
			c.Data.Prompts, c.Eval.Dataset, c.Eval.Steps, c.Eval.AtStart = []string{write(t, t.TempDir(), "twins.jsonl", text)}, nil, 0, false
			return refusal{problem.Data, []string{"twins.jsonl:2", `"a"`}}
		},
		"a folder": func(t *testing.T, c *recipe.Config) refusal {
			c.Data.Prompts = []string{t.TempDir()}
			return refusal{problem.Data, []string{c.Data.Prompts[0], "folder"}}
		},
		"a device": func(t *testing.T, c *recipe.Config) refusal {
			c.Data.Prompts = []string{"/dev/zero"}
			return refusal{problem.Data, []string{"/dev/zero", "read twice"}}
		},
		"no file": func(t *testing.T, c *recipe.Config) refusal {
			c.Eval.Dataset = []string{"nowhere.jsonl"}
			return refusal{problem.Data, []string{"nowhere.jsonl"}}
		},
		"one file twice": func(t *testing.T, c *recipe.Config) refusal {
			c.Data.Prompts = append(c.Data.Prompts, c.Data.Prompts[0])
			return refusal{problem.Data, []string{"prompts"}}
		},
		"a row that the agent cannot begin with": func(t *testing.T, c *recipe.Config) refusal {
			c.Agent.Name = "shop"
			return refusal{problem.Data, []string{"prompts.jsonl: row 1", "label"}}
		},
		"no label to compare with": func(t *testing.T, c *recipe.Config) refusal {
			c.Agent.Name, c.Data.LabelKey = "answer", ""
			c.Data.Prompts = []string{write(t, t.TempDir(), "prompts.jsonl", `{"input": "what?", "answer": "1"}`+"\n")}
			return refusal{problem.Data, []string{"prompts.jsonl: row 1", "label", "--data.label_key"}}
		},
		"groups of one": func(t *testing.T, c *recipe.Config) refusal {
			c.Rollout.Samples = 1
			return refusal{problem.Combined, []string{"algo.advantage.estimator", "too few to compare"}}
		},
		"a warm-up longer than the run": func(t *testing.T, c *recipe.Config) refusal {
			c.Actor.Scheduler, c.Actor.WarmupSteps = "linear", 9
			return refusal{problem.Setting, []string{"actor.lr_warmup_steps", "9"}}
		},
		"the same of a run by episodes": func(t *testing.T, c *recipe.Config) refusal {
			c.Actor.Scheduler, c.Actor.WarmupSteps, c.Train.Steps = "cosine", 7, 0
			return refusal{problem.Setting, []string{"actor.lr_warmup_steps"}}
		},
		"a learning rate that is no number": func(t *testing.T, c *recipe.Config) refusal {
			c.Actor.Adam.LR = math.NaN() // a recipe or a flag cannot say this
			return refusal{problem.Setting, []string{"learning rate", "NaN"}}
		},
		"longer than the model sees": func(t *testing.T, c *recipe.Config) refusal {
			c.Rollout.MaxLen = 4096
			return refusal{problem.Setting, []string{"rollout.max_len is 4096", "512"}}
		},
		"more memory than there is": func(t *testing.T, c *recipe.Config) refusal {
			c.Train.MicroTokens = 1_000_000_000
			return refusal{problem.Resource, []string{"memory", "train.max_tokens_per_micro_batch"}}
		},
		"no folder": func(t *testing.T, c *recipe.Config) refusal {
			c.Ckpt.Path = ""
			return refusal{problem.Setting, []string{"--ckpt.path"}}
		},
		"no key": func(t *testing.T, c *recipe.Config) refusal {
			c.Data.InputKey = ""
			return refusal{problem.Combined, []string{"data.input_key"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := microRL(t)
			want := spoil(t, c)
			begun := time.Now()
			_, err := RL(t.Context(), c, recipe.Settings(c), leg.View{})
			errs := []error{err}
			if want.code != problem.Setting || c.Ckpt.Path != "" {
				_, err = PlanRL(t.Context(), c)
				errs = append(errs, err)
			}
			checkRefused(t, c.Ckpt.Path, errs, want)
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// data spoils the prompts.
func data(text string, says ...string) func(t *testing.T, c *recipe.Config) refusal {
	return func(t *testing.T, c *recipe.Config) refusal {
		c.Data.Prompts = []string{write(t, t.TempDir(), "bad.jsonl", text)}
		return refusal{problem.Data, append(says, "bad.jsonl")}
	}
}

// forgetManifest lets a model be changed: what it was made with is not compared any more.
func forgetManifest(t *testing.T, model string) {
	t.Helper()
	remove(t, filepath.Join(model, "molt-manifest.json"))
}

func TestRefusedBySFT(t *testing.T) {
	row := func(messages string) string { return `{"messages": [` + messages + "]}\n" }
	user, reply := `{"role": "user", "content": "a?"}`, `{"role": "assistant", "content": "b"}`
	for name, spoil := range map[string]func(t *testing.T, c *recipe.SFTConfig) refusal{
		"nothing to learn":     chats(row(user), "row 1", "assistant"),
		"the assistant begins": chats(row(reply), "row 1", "assistant"),
		"no messages":          chats(`{"input": "a"}`+"\n", ":1", "messages"),
		"messages are no list": chats(`{"messages": "a"}`+"\n", ":1", "messages"),
		"no conversation fits": func(t *testing.T, c *recipe.SFTConfig) refusal {
			c.Data.MaxLen = 4
			return refusal{problem.Data, []string{"chats.jsonl", "data.max_len"}}
		},
		"an empty file": chats("", "empty"),
		"longer than the model": func(t *testing.T, c *recipe.SFTConfig) refusal {
			c.Data.MaxLen = 4096
			return refusal{problem.Setting, []string{"data.max_len is 4096"}}
		},
		"more memory than there is": func(t *testing.T, c *recipe.SFTConfig) refusal {
			c.Train.MicroTokens = 1_000_000_000
			return refusal{problem.Resource, []string{"memory"}}
		},
		"nothing to evaluate on": func(t *testing.T, c *recipe.SFTConfig) refusal {
			c.Eval.Steps = 3
			return refusal{problem.Combined, []string{"eval.steps"}}
		},
		"a warm-up longer than the run": func(t *testing.T, c *recipe.SFTConfig) refusal {
			c.Model.Scheduler, c.Model.WarmupSteps = "linear", 99
			return refusal{problem.Setting, []string{"model.lr_warmup_steps"}}
		},
		"a held-out row that is none": func(t *testing.T, c *recipe.SFTConfig) refusal {
			c.Eval.Dataset = []string{write(t, t.TempDir(), "held.jsonl", row(user))}
			return refusal{problem.Data, []string{"held.jsonl: row 1"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := microSFT(t)
			want := spoil(t, c)
			_, err := finetune.Run(t.Context(), c, recipe.Settings(c), leg.View{})
			_, planned := finetune.Plan(t.Context(), c)
			checkRefused(t, c.Ckpt.Path, []error{err, planned}, want)
		})
	}
}

func chats(text string, says ...string) func(t *testing.T, c *recipe.SFTConfig) refusal {
	return func(t *testing.T, c *recipe.SFTConfig) refusal {
		c.Data.Dataset = []string{write(t, t.TempDir(), "bad.jsonl", text)}
		return refusal{problem.Data, append(says, "bad.jsonl")}
	}
}

// TestChangedBetweenLegs: a run goes on only with what it began with.
func TestChangedBetweenLegs(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, c *recipe.Config) string{
		"a setting": func(_ *testing.T, c *recipe.Config) string {
			c.Actor.Adam.LR = 0.03
			return "actor.adam.lr was \"0.02\" and is now \"0.03\""
		},
		"the prompts": func(t *testing.T, c *recipe.Config) string {
			rewrite(t, c.Data.Prompts[0], "what", "whet")
			return "prompts.jsonl"
		},
		"the held-out": func(t *testing.T, c *recipe.Config) string {
			rewrite(t, c.Eval.Dataset[0], "where", "there")
			return "held_out.jsonl"
		},
		"the weights": func(t *testing.T, c *recipe.Config) string { otherWeights(t, c.Model.Path); return "model was" },
		"the tokenizer": func(t *testing.T, c *recipe.Config) string {
			rewrite(t, filepath.Join(c.Model.Path, "tokenizer.json"), `"version"`, ` "version"`)
			return "model's tokenizer.json"
		},
		"the template": func(t *testing.T, c *recipe.Config) string {
			rewrite(t, filepath.Join(c.Model.Path, "chat_template.jinja"), "\n", "\n{# spaced #}")
			return "model's chat template"
		},
		"the shape": func(t *testing.T, c *recipe.Config) string {
			rewrite(t, filepath.Join(c.Model.Path, "config.json"), "10000", "20000")
			return "model's config.json"
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := microRL(t)
			c.Model.Path = copyModel(t)
			forgetManifest(t, c.Model.Path)
			half(t, c, "2")
			before := fmt.Sprint(listing(t, c.Ckpt.Path), string(read(t, filepath.Join(c.Ckpt.Path, folder.RecordFile))))
			says := change(t, c)
			_, err := RL(t.Context(), c, recipe.Settings(c), leg.View{})
			wantProblem(t, err, problem.RunFolder, says)
			wantProblem(t, err, problem.RunFolder, "another configuration")
			if after := fmt.Sprint(listing(t, c.Ckpt.Path), string(read(t, filepath.Join(c.Ckpt.Path, folder.RecordFile)))); after != before {
				t.Errorf("the folder was %s, and is now %s", before, after)
			}
		})
	}
}

func rewrite(t *testing.T, path, from, to string) {
	t.Helper()
	text := string(read(t, path))
	if !strings.Contains(text, from) {
		t.Fatalf("%s has no %q", path, from)
	}
	write(t, filepath.Dir(path), filepath.Base(path), strings.Replace(text, from, to, 1))
}

func otherWeights(t *testing.T, model string) {
	t.Helper()
	data := read(t, filepath.Join(model, "model.safetensors"))
	data[len(data)-4] ^= 1
	write(t, model, "model.safetensors", string(data))
}

// TestFreeSettingsMayChange: resources may be others when a run is resumed.
func TestFreeSettingsMayChange(t *testing.T) {
	c := microRL(t)
	whole := *c
	whole.Ckpt.Path = t.TempDir()
	runRL(t, &whole)
	half(t, c, "2")
	c.Engine.Threads, c.Engine.InFlight, c.Engine.CacheMiB, c.Ckpt.MaxNum, c.Logger.KeepPerStep = 2, 5, 3, 7, 1
	runRL(t, c)
	tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir).same(t, tracesOf(t, whole.Ckpt.Path, folder.BestDir, folder.LastDir))
}

// TestLockDeletedWhileItRuns: a second process is kept out all the same, and does the run no harm.
func TestLockDeletedWhileItRuns(t *testing.T) {
	c := microRL(t)
	second := make(chan error, 1) // one: what the second run says
	view := whenHeard("rl step 2/", func() {
		remove(t, filepath.Join(c.Ckpt.Path, "lock"))
		again := *c
		_, err := RL(t.Context(), &again, recipe.Settings(&again), leg.View{})
		second <- err
	})
	if _, err := RL(t.Context(), c, recipe.Settings(c), view); err != nil {
		t.Fatal(err)
	}
	close(second)
	wantProblem(t, <-second, problem.Busy, "another run holds this folder")
}

// TestFolderMovedWhileItRuns: what took its place is another's, and nothing is written into it.
func TestFolderMovedWhileItRuns(t *testing.T) {
	rl := microRL(t)
	view := whenHeard("rl step 2/", func() {
		if err := os.Rename(rl.Ckpt.Path, rl.Ckpt.Path+".moved"); err != nil {
			t.Error(err)
		}
	})
	_, err := RL(t.Context(), rl, recipe.Settings(rl), view)
	wantProblem(t, err, problem.Busy, rl.Ckpt.Path+": it was moved, deleted or replaced while the run went on")
	if _, err := os.Stat(rl.Ckpt.Path); err == nil {
		t.Error("the folder is there again")
	}
	again := *rl
	again.Ckpt.Path += ".moved"
	runRL(t, &again)

	sft := microSFT(t)
	sft.Eval.Dataset, sft.Eval.Steps = sft.Data.Dataset, 1
	moved := sft.Ckpt.Path + ".moved"
	view = whenHeard("sft step 2/", func() {
		if err := errors.Join(os.Rename(sft.Ckpt.Path, moved), os.Mkdir(sft.Ckpt.Path, 0o755)); err != nil {
			t.Error(err)
		}
	})
	_, err = finetune.Run(t.Context(), sft, recipe.Settings(sft), view)
	wantProblem(t, err, problem.Busy, "another run may hold the folder")
	if found := listing(t, sft.Ckpt.Path); len(found) > 1 {
		t.Errorf("wrote %q", found)
	}
}

// TestTwoRunsOnOneFolder: the second is refused while the first goes on, and does it no harm.
func TestTwoRunsOnOneFolder(t *testing.T) {
	c := microRL(t)
	whole := *c
	whole.Ckpt.Path = t.TempDir()
	runRL(t, &whole)
	second := make(chan error, 1) // one: what the second run says
	view := whenHeard("rl step 2/", func() {
		again := *c
		_, err := RL(t.Context(), &again, recipe.Settings(&again), leg.View{})
		second <- err
	})
	if _, err := RL(t.Context(), c, recipe.Settings(c), view); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, <-second, problem.Busy, "another run holds this folder")
	tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir).same(t, tracesOf(t, whole.Ckpt.Path, folder.BestDir, folder.LastDir))
}
