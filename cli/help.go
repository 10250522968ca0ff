package cli

import (
	"fmt"
	"strings"

	"molt/internal/spell"
	"molt/run/problem"
	"molt/run/recipe"
)

// helpCmd is `molt help TOPIC`.
type helpCmd struct {
	Topic string `arg:"" optional:"" help:"A command, or settings, settings.sft, exit-codes, environment or formats."`
}

func (c *helpCmd) Run(a *app) error {
	switch c.Topic {
	case "":
		fmt.Fprint(a.stdout, menu, "\nTopics: molt help settings | settings.sft | exit-codes | environment | formats\n")
	case "settings":
		cfg := recipe.Defaults()
		printSettings(a, "Settings of molt rl", recipe.Settings(&cfg))
	case "settings.sft":
		cfg := recipe.SFTDefaults()
		printSettings(a, "Settings of molt sft", recipe.Settings(&cfg))
	case "exit-codes":
		fmt.Fprint(a.stdout, exitCodes)
	case "environment":
		fmt.Fprint(a.stdout, environment)
	case "formats":
		fmt.Fprint(a.stdout, formats)
	default:
		topics := []string{"settings", "settings.sft", "exit-codes", "environment", "formats"}
		what := fmt.Sprintf("no topic %q", c.Topic)
		known := topics
		for _, command := range a.model.Children {
			known = append(known, command.Name)
		}
		if near := spell.Nearest(c.Topic, known); near != "" {
			what += "; did you mean " + near + "?"
		}
		return &problem.Problem{Code: problem.Usage, What: what, Fix: "name a command, or one of " + strings.Join(topics, ", ")}
	}
	return nil
}

func printSettings(a *app, title string, settings []*recipe.Setting) {
	fmt.Fprintf(a.stdout, "%s. Flags: --NAME VALUE; recipes: the same names, nested. `-` and `_` are equal in flags.\n", title)
	section := ""
	for _, s := range settings {
		if of := s.Name[:strings.LastIndex(s.Name, ".")]; of != section {
			section = of
			fmt.Fprintf(a.stdout, "\n%s\n", section)
		}
		fmt.Fprintf(a.stdout, "  --%s\n%s\n", s.Name, wrap(describe(s), 100, "      "))
	}
}

func describe(s *recipe.Setting) string {
	text := s.Help
	var facts []string
	if v := s.Text(); v != "" {
		facts = append(facts, "default "+v)
	}
	if s.Unit != "" {
		facts = append(facts, s.Unit)
	}
	if s.Range != "" {
		facts = append(facts, s.Range)
	}
	if len(s.Aliases) > 0 {
		facts = append(facts, "also --"+strings.Join(s.Aliases, ", --"))
	}
	if len(facts) > 0 {
		text += " [" + strings.Join(facts, "; ") + "]"
	}
	return text
}

const exitCodes = `0    ok
1    failed
2    a command, flag, recipe or setting is wrong                   MOLT-U…
3    a model, tokenizer, template, data file or run is refused     MOLT-D…
4    the run stopped itself: it would train on something unvouched MOLT-A…
5    disk, memory, permission or another run in the way            MOLT-R…
130  interrupted; the same command resumes                         MOLT-I…

molt launch ends with the exit code of its harness; 128 and a signal's number when one ended it.
`

const environment = `MOLT_KERNEL      plain, avx2 or avx512: which kernels to use. All give the same bits; the default is the fastest here.
NO_COLOR         any value switches colour off
CLICOLOR_FORCE   any value but 0 switches colour on, also where output is no terminal
TERM             dumb gives plain lines

Models by name (org/name) are found and kept as Python's huggingface_hub does:

HF_HUB_CACHE     folder of the cache; without it $HF_HOME/hub, $XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub
HF_TOKEN         token for gated and private models; without it that of $HF_TOKEN_PATH or $HF_HOME/token
HF_ENDPOINT      URL of another hub
HF_HUB_OFFLINE   1 uses the cache only, and asks nobody

MOLT_MAX_DOWNLOAD_GB   refuses to download a model of more gigabytes; without it there is no limit but the disk
MOLT_DOWNLOAD_ALSO     patterns of files to download besides what a model needs, such as onnx/*,*.bin; * stands for any text

Nothing in the environment changes the result of a run.
`

const formats = `Prompts (JSONL, molt rl)        {"input": "…" or [messages], "label": "…", "tools": […], "id": "…"}; keys: --data.input_key …
Conversations (JSONL, molt sft) {"messages": [{"role": "system|user|assistant|tool", "content": "…", "tool_calls": […]}]}
Model folder                    config.json, model.safetensors, tokenizer.json, chat_template.jinja (Hugging Face)
Run folder                      config.yaml (runs again as is), run.json, events.jsonl, rollouts.jsonl, checkpoints/, best/, report.html
`
