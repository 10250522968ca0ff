// A request in our own words, whichever wire it came by.

package wire

import (
	"slices"
	"strings"

	"molt/chat"
)

// Bounds of a request. What a body may weigh is the server's business.
const (
	MaxItems   = 1 << 16 // messages
	MaxTools   = 1024
	MaxStops   = 16
	MaxChoices = 16
	MaxImages  = 512
)

// Request is one call of a client.
type Request struct {
	Model    string
	Items    []*chat.Item
	Tools    []chat.ToolSpec
	ToolsKey chat.Key
	Names    Names
	Options  Options
	Stream   bool
	Previous string  // the reply that the items continue; "" for none
	Store    bool    // a later request may name this reply as Previous
	Echo     []byte  // members of the request that the reply repeats, as JSON without braces; of the Responses wire
	Prompt   []int32 // of a raw completion: ids
	Places   []int   // of a raw completion: where among its ids the images of Items stand
	Text     string  // of a raw completion: text

	images int // that the items show
}

// Options are what a request asks of sampling. nil and zero ask for the run's own.
type Options struct {
	Temperature, TopP, MinP         *float64
	TopK                            *int
	Frequency, Presence, Repetition *float64
	Bias                            []Bias // by ascending id
	MaxTokens, MinTokens            int
	Stop                            []string
	StopTokens                      []int32
	IgnoreEnd                       bool // go on behind a token that ends a turn
	Seed                            *uint64
	Choices                         int  // 1 or more
	Logprobs                        bool // report the log-prob of every sampled token
	Top                             int  // and so many alternatives
	TokenIDs                        bool // report ids
	Usage                           bool // of a stream: report usage at its end
	Choose                          Choice
	Single                          bool // at most one call
	Hidden                          bool // do not show reasoning
	Format                          Format
	Variables                       []chat.Member // of the chat template, set by name
	Think                           *bool         // whether to reason, where the template knows how to say so
	Effort                          string        // how much to reason, likewise
}

// Format is what a reply has to conform to. The zero Format is text.
type Format struct {
	Param  string // the request's field
	Schema []byte // a JSON schema; nil for any JSON object
}

// ReadFormat reads a format of type text, json_object or json_schema.
func (f *Fields) ReadFormat(name string) Format {
	v, ok := f.Get(name)
	if !ok {
		return Format{}
	}
	in := Read(v, f.At(name))
	out := Format{Param: in.Path}
	switch kind := in.Text("type"); kind {
	case "text":
		return Format{}
	case "json_object":
	case "json_schema":
		if inner, ok := in.Get("json_schema"); ok {
			in = Read(inner, in.At("json_schema"))
		}
		schema, ok := in.Get("schema")
		if !ok {
			in.fail(in.At("schema"), "is missing")
		}
		out.Schema = schema.AppendJSON(nil)
	default:
		in.fail(in.At("type"), "is %q; want text, json_object or json_schema", kind)
	}
	f.adopt(in)
	return out
}

// Choice says whether tools may or must be called, and which.
type Choice struct {
	Mode ChoiceMode
	Only []string // names of tools; nil for any
}

// Offers lists the tools that may be called.
func (c *Choice) Offers(tools []chat.ToolSpec) []chat.ToolSpec {
	if c.Only == nil {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t chat.ToolSpec) bool { return !slices.Contains(c.Only, t.Name) })
}

// ChoiceMode is the manner of a Choice.
type ChoiceMode uint8

const (
	Auto ChoiceMode = iota
	None
	Required
)

// Names tells the parts of a tool's name, which templates show as one.
type Names map[string]Tool

// Tool is how a client names a tool.
type Tool struct {
	Namespace string // "" for none
	Name      string
	Free      bool // takes text instead of JSON
	Strict    bool // its arguments must follow its schema
}

// Add enters a tool and returns the name that templates show.
func (n Names) Add(t Tool) string {
	name := t.Name
	if t.Namespace != "" {
		name = t.Namespace + "." + t.Name
	}
	n[name] = t
	return name
}

// Of splits the name of a call. A name that was not offered is split at nothing.
func (n Names) Of(name string) Tool {
	if t, ok := n[name]; ok {
		return t
	}
	return Tool{Name: name}
}

// Strict reports whether the arguments of any tool must follow its schema.
func (n Names) Strict() bool {
	for _, t := range n {
		if t.Strict {
			return true
		}
	}
	return false
}

// Handles are names that we mint and clients send back: a prefix, an underscore, the turn's own name, and perhaps an
// underscore and a number. The turn's name holds no underscore and cannot be guessed.

// TurnOf returns the name of the turn in a handle; false for what cannot be ours.
func TurnOf(handle string) (string, bool) {
	_, name, ok := strings.Cut(handle, "_")
	name, _, _ = strings.Cut(name, "_")
	return name, ok && len(name) >= 20
}
