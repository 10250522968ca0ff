// Command gosdk runs the two official Go libraries against the same server as sdks.mjs. Usage: gosdk SERVER. Each failure is
// a line; the exit code is 1 when there is one. It is a module of its own: these libraries bring many others.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/anthropics/anthropic-sdk-go/v2"
	aoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

var ctx = context.Background()

const hello = "Hello there."

// want is what a case got, as an error, unless it is right.
func want(ok bool, got any) error {
	if ok {
		return nil
	}
	text, _ := json.Marshal(got)
	return fmt.Errorf("got %.800s", text)
}

var city = map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}}

func chat(says string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(says)}}
}

func chatCases(c openai.Client) map[string]func() error {
	tools := []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "get_weather", Parameters: city})}
	return map[string]func() error{
		"chat": func() error {
			r, err := c.Chat.Completions.New(ctx, chat("hi"))
			if err != nil {
				return err
			}
			return want(r.Choices[0].Message.Content == hello && r.Usage.TotalTokens > 0, r)
		},
		"chat stream": func() error {
			p := chat("hi")
			p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
			stream := c.Chat.Completions.NewStreaming(ctx, p)
			var all openai.ChatCompletionAccumulator
			for stream.Next() {
				all.AddChunk(stream.Current())
			}
			return errors.Join(stream.Err(), want(len(all.Choices) == 1 && all.Choices[0].Message.Content == hello && all.Usage.PromptTokens > 0, all.Choices))
		},
		"chat parallel tools, streamed": func() error {
			p := chat("PARALLEL")
			p.Tools = tools
			stream := c.Chat.Completions.NewStreaming(ctx, p)
			var all openai.ChatCompletionAccumulator
			for stream.Next() {
				all.AddChunk(stream.Current())
			}
			calls := all.Choices[0].Message.ToolCalls
			return errors.Join(stream.Err(), want(len(calls) == 2 && calls[1].Function.Name == "get_weather" && calls[1].ID != "", calls))
		},
		"chat tool loop": func() error {
			p := chat("PARALLEL")
			p.Tools = tools
			r, err := c.Chat.Completions.New(ctx, p)
			if err != nil {
				return err
			}
			p.Messages = append(p.Messages, r.Choices[0].Message.ToParam())
			for _, call := range r.Choices[0].Message.ToolCalls {
				p.Messages = append(p.Messages, openai.ToolMessage("rain", call.ID))
			}
			r, err = c.Chat.Completions.New(ctx, p)
			if err != nil {
				return err
			}
			return want(r.Usage.PromptTokensDetails.CachedTokens > 0, r)
		},
		"models": func() error {
			r, err := c.Models.List(ctx)
			if err != nil {
				return err
			}
			return want(len(r.Data) > 0 && r.Data[0].ID != "", r)
		},
		"chat error": func() error {
			p := chat("hi")
			p.Temperature = openai.Float(-1)
			_, err := c.Chat.Completions.New(ctx, p)
			e, ok := errors.AsType[*openai.Error](err)
			return want(ok && e.StatusCode == http.StatusBadRequest && e.Message != "", err)
		},
		"responses": func() error {
			r, err := c.Responses.New(ctx, responses.ResponseNewParams{Model: "m", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hi")}})
			if err != nil {
				return err
			}
			return want(r.OutputText() == hello && r.Usage.TotalTokens > 0, r)
		},
		"responses stream": func() error {
			stream := c.Responses.NewStreaming(ctx, responses.ResponseNewParams{Model: "m", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("THINK")}})
			text, last := "", ""
			for stream.Next() {
				e := stream.Current()
				if e.Type == "response.output_text.delta" {
					text += e.Delta
				}
				last = e.Type
			}
			return errors.Join(stream.Err(), want(text == "Forty-two." && last == "response.completed", text+" "+last))
		},
	}
}

func messages(says string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: "m", MaxTokens: 99, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(says))}}
}

func messageCases(c anthropic.Client) map[string]func() error {
	tool := anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: city["properties"], Required: []string{"city"}}, "get_weather")
	return map[string]func() error{
		"messages": func() error {
			r, err := c.Messages.New(ctx, messages("hi"))
			if err != nil {
				return err
			}
			return want(r.Content[0].Text == hello && r.Usage.InputTokens > 0, r)
		},
		"messages stream with tools": func() error {
			p := messages("PARALLEL")
			p.Tools = []anthropic.ToolUnionParam{tool}
			stream := c.Messages.NewStreaming(ctx, p)
			var all anthropic.Message
			for stream.Next() {
				if err := all.Accumulate(stream.Current()); err != nil {
					return err
				}
			}
			n := 0
			for _, block := range all.Content {
				if block.Type == "tool_use" {
					n++
				}
			}
			return errors.Join(stream.Err(), want(n == 2 && all.StopReason == anthropic.StopReasonToolUse && all.Usage.OutputTokens > 0, all))
		},
		"count tokens": func() error {
			r, err := c.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: "m", Messages: messages("hi").Messages})
			if err != nil {
				return err
			}
			return want(r.InputTokens > 0, r)
		},
		"messages error": func() error {
			p := messages("hi")
			p.MaxTokens = 0
			_, err := c.Messages.New(ctx, p)
			e, ok := errors.AsType[*anthropic.Error](err)
			return want(ok && e.StatusCode == http.StatusBadRequest, fmt.Sprint(err))
		},
	}
}

func main() {
	answer, err := http.Post(os.Args[1]+"/sessions", "", nil)
	var s struct {
		Key    string `json:"api_key"`
		Base   string `json:"base_url"`
		OpenAI string `json:"openai_base_url"`
	}
	if err == nil {
		err = json.NewDecoder(answer.Body).Decode(&s)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	good, bad := 0, 0
	for _, cases := range []map[string]func() error{
		chatCases(openai.NewClient(option.WithBaseURL(s.OpenAI), option.WithAPIKey(s.Key), option.WithMaxRetries(0))),
		messageCases(anthropic.NewClient(aoption.WithBaseURL(s.Base), aoption.WithAPIKey(s.Key), aoption.WithMaxRetries(0))),
	} {
		for name, run := range cases {
			if err := run(); err != nil {
				bad++
				fmt.Printf("%s: %v\n", name, err)
			} else {
				good++
			}
		}
	}
	fmt.Printf("%d right, %d wrong\n", good, bad)
	if bad > 0 {
		os.Exit(1)
	}
}
