package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"molt/chat"
	"molt/engine/local"
	"molt/run/inspect"
	"molt/run/models"
	"molt/run/problem"
)

// textFlags say whose tokenizer and template it is.
type textFlags struct {
	Model     string `arg:"" optional:"" help:"Hugging Face model folder; its weights are not read."`
	Tokenizer string `placeholder:"FILE" help:"Use this tokenizer.json."`
}

// modelEncodeCmd is `molt model encode`.
type modelEncodeCmd struct{ textFlags }

// Help shows the form of the lines.
func (*modelEncodeCmd) Help() string {
	return `Reads {"text": …} from each line of standard input and prints {"ids": […]}. Control tokens in the text are meant; with "ordinary": true they
are text. "add_special_tokens": true adds what the tokenizer's post-processor adds.

Example:

  echo '{"text": "Hello"}' | molt model encode MODEL`
}

func (c *modelEncodeCmd) Run(ctx context.Context, a *app) error {
	text, err := c.open("", "")
	if err != nil {
		return err
	}
	return a.answerLines(ctx, inspect.Encode(text.Tok))
}

// modelDecodeCmd is `molt model decode`.
type modelDecodeCmd struct{ textFlags }

// Help shows the form of the lines.
func (*modelDecodeCmd) Help() string {
	return `Reads {"ids": […]} from each line of standard input and prints {"text": …}. "skip_special_tokens": true leaves out control tokens;
"clean_up_tokenization_spaces": true shows the text as transformers does where the model sets that, which may not encode to its ids again.

Example:

  echo '{"ids": [9707]}' | molt model decode MODEL`
}

func (c *modelDecodeCmd) Run(ctx context.Context, a *app) error {
	text, err := c.open("", "")
	if err != nil {
		return err
	}
	return a.answerLines(ctx, inspect.Decode(text.Tok))
}

// open reads the texts that the command needs.
func (f *textFlags) open(template, named string) (*models.Text, error) {
	if f.Model == "" && f.Tokenizer == "" && template == "" {
		return nil, &problem.Problem{Code: problem.Usage, What: "no model", Fix: "name a model folder, or a file with --tokenizer"}
	}
	return models.TextFiles{Model: f.Model, Tokenizer: f.Tokenizer, Template: template, Named: named}.Open()
}

// modelRenderCmd is `molt model render`.
type modelRenderCmd struct {
	textFlags
	Template string `xor:"template" placeholder:"FILE" help:"Use this chat template (Jinja)."`
	Named    string `name:"template-name" xor:"template" placeholder:"NAME" help:"Use the model's chat template of this name (default tool_use where a line has tools and there is one, else default)."`
	Date     string `placeholder:"YYYY-MM-DD" help:"What the template is told when it asks for the date (default 2024-07-26, as in every run)."`
}

// Help shows the form of the lines.
func (*modelRenderCmd) Help() string {
	return `Reads a conversation from each line of standard input, {"messages": […], "tools": […]}, and prints {"prompt": …, "ids": […]}, or {"error": …}
where the template refuses it. "add_generation_prompt": false ends behind the last message. Every other key is a variable of the template.

The ids are those that a rollout gives to the engine: control strings in what users and tools say stay text there, and are counted as "masked".

Example:

  echo '{"messages": [{"role": "user", "content": "Hi"}], "enable_thinking": false}' | molt model render MODEL`
}

func (c *modelRenderCmd) Run(ctx context.Context, a *app) error {
	now := models.PromptDate
	if c.Date != "" {
		var err error
		if now, err = time.Parse(time.DateOnly, c.Date); err != nil {
			return &problem.Problem{Code: problem.Usage, Where: "--date", What: fmt.Sprintf("%q is not a date", c.Date), Fix: "write it like 2026-01-31"}
		}
	}
	text, err := c.open(c.Template, c.Named)
	if err != nil {
		return err
	}
	if len(text.Sources) == 0 {
		return &problem.Problem{Code: problem.Template, Where: c.Model, What: "there is no chat template", Fix: "name one with --template"}
	}
	return a.answerLines(ctx, inspect.Render(text, now))
}

// modelLogitsCmd is `molt model logits`.
type modelLogitsCmd struct {
	Model   string `arg:"" help:"Hugging Face model folder."`
	Adapter string `placeholder:"DIR" help:"PEFT folder of an adapter to put on the model."`
	Threads int    `default:"0" placeholder:"N" help:"Worker threads; 0 takes all cores. Changes no number (default ${default})."`
}

// Help shows the form of the lines.
func (*modelLogitsCmd) Help() string {
	return `Reads {"ids": […]} from each line of standard input and prints {"logp": […]}: of every id but the first, the log-prob (nats) under the ids before it.
"top": k adds the k likeliest ids behind every position; "logits": "all" or "last" adds the logits themselves.

Example:

  echo '{"ids": [1, 403, 407], "top": 5}' | molt model logits MODEL`
}

func (c *modelLogitsCmd) Run(ctx context.Context, a *app) error {
	m, err := models.Open(c.Model)
	if err == nil {
		err = m.Adapt(c.Adapter)
	}
	if err != nil {
		return err
	}
	oracle, err := local.NewOracle(m.Shape, m.Weights, c.Threads)
	if err != nil {
		return &problem.Problem{Code: problem.Model, Where: c.Model, What: err.Error(), Fix: "choose another model", Err: err}
	}
	defer oracle.Close()
	return a.answerLines(ctx, inspect.Oracle(oracle))
}

// longestInput is the most bytes in a line of these commands.
const longestInput = 256 << 20

// answerLines prints one answer for each line. A refused line is an answer, and the exit code is 1 when there was one.
func (a *app) answerLines(ctx context.Context, answer inspect.Line) error {
	lines := bufio.NewScanner(a.stdin)
	lines.Buffer(nil, longestInput)
	refused := 0
	for n := 1; lines.Scan(); n++ {
		if err := interruptedLines(ctx, n); err != nil {
			return err
		}
		input, err := chat.ParseValue(lines.Bytes())
		if err != nil {
			err = fmt.Errorf("the line is not one JSON value: %s", strings.TrimPrefix(err.Error(), "chat: reading JSON: jsontext: "))
		}
		var said any
		if err == nil {
			said, err = answer(input)
		}
		if err != nil {
			refused++
			said = inspect.Refused{Error: err.Error()}
		}
		if err := a.dataJSON(said); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return &problem.Problem{Code: problem.Data, Where: "standard input", What: "cannot read it", Why: err.Error(), Fix: "give one JSON object on each line", Err: err}
	}
	if refused > 0 {
		return &problem.Problem{Code: problem.Data, Where: "standard input", What: refusedLines(refused), Fix: "see the errors that were printed in their places"}
	}
	return nil
}

func refusedLines(n int) string {
	if n == 1 {
		return "1 line was refused"
	}
	return fmt.Sprintf("%d lines were refused", n)
}

func interruptedLines(ctx context.Context, n int) error {
	if ctx.Err() == nil {
		return nil
	}
	return &problem.Problem{Code: problem.Interrupted, What: fmt.Sprintf("interrupted before line %d", n), Fix: "give the lines from there again"}
}
