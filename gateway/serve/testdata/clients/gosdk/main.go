// Command gosdk runs the two official Go libraries against the same script as sdks.mjs, in the same words. Usage: gosdk SERVER.
// It is a module of its own: these libraries bring many others.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	aoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// question is what a library is asked; answer its last text, the city of each call, and the tokens in and out of the last turn.
type (
	question struct {
		prompt        string
		tools, stream bool
		image         bool // shows one pixel behind the prompt
		schema        map[string]any
	}
	answer struct {
		Text    string
		Calls   []string
		In, Out int64
	}
	library func(question) (answer, error)
)

const retries = 1 // one refusal is forgiven: it must be of the kind that libraries repeat

var (
	ctx        = context.Background()
	properties = map[string]any{"city": map[string]any{"type": "string"}}
	city       = map[string]any{"type": "object", "properties": properties, "required": []string{"city"}, "additionalProperties": false}
	wrong      = map[string]any{"type": "object", "properties": properties, "required": []string{"city", "country"}, "additionalProperties": false}
)

const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
	url   = "data:image/png;base64," + pixel
)

// note adds the city that a call names.
func (a *answer) note(arguments string) error {
	var place struct{ City string }
	err := json.Unmarshal([]byte(arguments), &place)
	a.Calls = append(a.Calls, place.City)
	return err
}

func chat(c openai.Client) library {
	turn := func(p openai.ChatCompletionNewParams, stream bool) (*openai.ChatCompletion, error) {
		if !stream {
			return c.Chat.Completions.New(ctx, p)
		}
		p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
		events := c.Chat.Completions.NewStreaming(ctx, p)
		var all openai.ChatCompletionAccumulator
		for events.Next() {
			all.AddChunk(events.Current())
		}
		return &all.ChatCompletion, events.Err()
	}
	return func(q question) (a answer, err error) {
		said := openai.UserMessage(q.prompt)
		if q.image {
			shown := openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: url})
			said = openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{openai.TextContentPart(q.prompt), shown})
		}
		p := openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{said}}
		if q.tools {
			p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "get_weather", Parameters: city})}
		}
		if q.schema != nil {
			p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
				JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "place", Strict: openai.Bool(true), Schema: q.schema}}
		}
		for {
			r, err := turn(p, q.stream)
			if err != nil {
				return a, err
			}
			m := r.Choices[0].Message
			if len(m.ToolCalls) == 0 {
				a.Text, a.In, a.Out = m.Content, r.Usage.PromptTokens, r.Usage.CompletionTokens
				return a, nil
			}
			p.Messages = append(p.Messages, m.ToParam())
			for _, call := range m.ToolCalls {
				if err := a.note(call.Function.Arguments); err != nil {
					return a, err
				}
				p.Messages = append(p.Messages, openai.ToolMessage("sunny", call.ID))
			}
		}
	}
}

func respond(c openai.Client) library {
	turn := func(p responses.ResponseNewParams, stream bool) (*responses.Response, error) {
		if !stream {
			return c.Responses.New(ctx, p)
		}
		events := c.Responses.NewStreaming(ctx, p)
		var last responses.Response
		for events.Next() {
			if e := events.Current(); e.Type == "response.completed" {
				last = e.Response
			}
		}
		return &last, events.Err()
	}
	return func(q question) (a answer, err error) {
		input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(q.prompt, responses.EasyInputMessageRoleUser)}
		if q.image {
			shown := responses.ResponseInputImageParam{ImageURL: openai.String(url), Detail: responses.ResponseInputImageDetailAuto}
			parts := responses.ResponseInputMessageContentListParam{responses.ResponseInputContentParamOfInputText(q.prompt), {OfInputImage: &shown}}
			input = responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(parts, responses.EasyInputMessageRoleUser)}
		}
		p := responses.ResponseNewParams{Model: "m"}
		if q.tools {
			p.Tools = []responses.ToolUnionParam{responses.ToolParamOfFunction("get_weather", city, true)}
		}
		if q.schema != nil {
			p.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{Name: "place", Strict: openai.Bool(true), Schema: q.schema}
		}
		for {
			p.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: input}
			r, err := turn(p, q.stream)
			if err != nil {
				return a, err
			}
			a.Text, a.In, a.Out = r.OutputText(), r.Usage.InputTokens, r.Usage.OutputTokens
			made := slices.DeleteFunc(slices.Clone(r.Output), func(x responses.ResponseOutputItemUnion) bool { return x.Type != "function_call" })
			if len(made) == 0 {
				return a, nil
			}
			for _, x := range made {
				call := x.AsFunctionCall()
				if err := a.note(call.Arguments); err != nil {
					return a, err
				}
				result := responses.ResponseInputItemParamOfFunctionCallOutput("sunny")
				result.OfFunctionCallOutput.CallID = openai.String(call.CallID)
				input = append(input, responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID, call.Name), result)
			}
		}
	}
}

func messages(c anthropic.Client) library {
	turn := func(p anthropic.MessageNewParams, stream bool) (*anthropic.Message, error) {
		if !stream {
			return c.Messages.New(ctx, p)
		}
		events := c.Messages.NewStreaming(ctx, p)
		var all anthropic.Message
		for events.Next() {
			if err := all.Accumulate(events.Current()); err != nil {
				return nil, err
			}
		}
		return &all, events.Err()
	}
	return func(q question) (a answer, err error) {
		said := []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(q.prompt)}
		if q.image {
			said = append(said, anthropic.NewImageBlockBase64("image/png", pixel))
		}
		p := anthropic.MessageNewParams{Model: "m", MaxTokens: 99, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(said...)}}
		if q.tools {
			p.Tools = []anthropic.ToolUnionParam{anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: properties, Required: []string{"city"}}, "get_weather")}
		}
		if q.schema != nil {
			p.OutputConfig.Format.Schema = q.schema
		}
		for {
			r, err := turn(p, q.stream)
			if err != nil {
				return a, err
			}
			a.Text, a.In, a.Out = "", r.Usage.InputTokens, r.Usage.OutputTokens
			var results []anthropic.ContentBlockParamUnion
			for _, block := range r.Content {
				switch block.Type {
				case "text":
					a.Text += block.Text
				case "tool_use":
					if err := a.note(string(block.Input)); err != nil {
						return a, err
					}
					results = append(results, anthropic.NewToolResultBlock(block.ID, "sunny", false))
				}
			}
			if len(results) == 0 {
				return a, nil
			}
			p.Messages = append(p.Messages, r.ToParam(), anthropic.NewUserMessage(results...))
		}
	}
}

// expect is nil for an answer with this text and these cities, and tokens both ways.
func expect(text string, cities ...string) func(answer, error) error {
	return func(a answer, err error) error {
		if err == nil && (a.Text != text || !slices.Equal(a.Calls, cities) || a.In <= 0 || a.Out <= 0) {
			err = fmt.Errorf("%+v", a)
		}
		return err
	}
}

// refused is nil for a 400 with one of these words.
func refused(words ...string) func(answer, error) error {
	return func(a answer, err error) error {
		status, said := 0, ""
		if e, ok := errors.AsType[*openai.Error](err); ok {
			status, said = e.StatusCode, e.Message
		} else if e, ok := errors.AsType[*anthropic.Error](err); ok {
			status, said = e.StatusCode, e.Error()
		}
		if status == http.StatusBadRequest && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(said, w) }) {
			return nil
		}
		return fmt.Errorf("%+v, %w", a, err)
	}
}

var features = []struct {
	name  string
	asked question
	check func(answer, error) error
}{
	{"chat", question{prompt: "hi"}, expect("Hello there.")},
	{"streaming", question{prompt: "hi", stream: true}, expect("Hello there.")},
	{"tools", question{prompt: "ONE", tools: true}, expect("It is sunny.", "Oslo")},
	{"parallel tools", question{prompt: "PARALLEL", tools: true}, expect("It is sunny.", "Oslo", "Rome")},
	{"streamed tools", question{prompt: "PARALLEL", tools: true, stream: true}, expect("It is sunny.", "Oslo", "Rome")},
	{"schema", question{prompt: "SCHEMA", schema: city}, expect(`{"city":"Oslo"}`)},
	{"bad schema", question{prompt: "SCHEMA", schema: wrong}, refused("country")},
	{"overflow", question{prompt: strings.Repeat("long ", 40000)}, refused("maximum context length", "prompt is too long")},
	{"image", question{prompt: "look", image: true}, expect("One pixel.")},
	{"overload", question{prompt: "AWAY"}, expect("Hello there.")},
}

func main() {
	opened, err := http.Post(os.Args[1]+"/sessions", "", nil)
	var s struct {
		Key    string `json:"api_key"`
		Base   string `json:"base_url"`
		OpenAI string `json:"openai_base_url"`
	}
	if err == nil {
		err = json.NewDecoder(opened.Body).Decode(&s)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	oa := openai.NewClient(option.WithBaseURL(s.OpenAI), option.WithAPIKey(s.Key), option.WithMaxRetries(retries))
	an := anthropic.NewClient(aoption.WithBaseURL(s.Base), aoption.WithAPIKey(s.Key), aoption.WithMaxRetries(retries))
	for _, l := range []struct {
		name string
		ask  library
	}{{"openai chat", chat(oa)}, {"openai responses", respond(oa)}, {"anthropic", messages(an)}} {
		for _, f := range features {
			report(l.name, f.name, f.check(l.ask(f.asked)))
		}
	}
	also(oa, an)
}

// also tries what only some libraries have.
func also(oa openai.Client, an anthropic.Client) {
	list, err := oa.Models.List(ctx)
	if err == nil && (len(list.Data) == 0 || list.Data[0].ID == "") {
		err = errors.New("no models")
	}
	report("also", "models", err)
	count, err := an.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: "m", Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))}})
	if err == nil && count.InputTokens <= 3 {
		err = fmt.Errorf("%d tokens", count.InputTokens)
	}
	report("also", "count tokens", err)
	_, err = oa.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{Model: "m", Temperature: openai.Float(-1), Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}})
	must := openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("ONE")}, Logprobs: openai.Bool(true), TopLogprobs: openai.Int(4),
		Tools:      []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "get_weather", Parameters: city, Strict: openai.Bool(true)})},
		ToolChoice: openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")}}
	called, errMust := oa.Chat.Completions.New(ctx, must)
	if errMust == nil && (len(called.Choices[0].Message.ToolCalls) != 1 || len(called.Choices[0].Logprobs.Content[0].TopLogprobs) != 4) {
		errMust = fmt.Errorf("%s", called.RawJSON())
	}
	report("also", "a call that must come, top_logprobs", errMust)
	report("also", "temperature below 0", refused("temperature")(answer{}, err))
}

func report(library, feature string, err error) {
	verdict := "ok"
	if err != nil {
		verdict = fmt.Sprintf("%.600s", strings.Join(strings.Fields(err.Error()), " "))
	}
	fmt.Printf("%s\t%s\t%s\n", library, feature, verdict)
}
