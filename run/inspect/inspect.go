// The three that need no weights.

package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"molt/chat"
	"molt/run/models"
	"molt/tokenizer"
)

// Line makes the answer to one line of input. What it returns is printed as JSON; an error is printed as {"error": …}.
type Line func(input chat.Value) (any, error)

// Refused is the answer to a line that was.
type Refused struct {
	Error string `json:"error"`
}

// IDs is an answer with ids.
type IDs struct {
	IDs []int32 `json:"ids"`
}

// Encode reads {"text": …}. Control tokens in the text are meant, as everywhere outside of conversations; "ordinary": true
// takes them as text, and "add_special_tokens": true adds what the post-processor adds.
func Encode(tok *tokenizer.Tokenizer) Line {
	return func(input chat.Value) (any, error) {
		var text string
		var ordinary, frame bool
		if err := fields(input, want{"text", &text, true}, want{"ordinary", &ordinary, false}, want{"add_special_tokens", &frame, false}); err != nil {
			return nil, err
		}
		ids := tok.EncodeSpecial
		if ordinary {
			ids = tok.EncodeOrdinary
		}
		encoded := ids(text)
		if frame {
			encoded = tok.Frame(encoded)
		}
		return IDs{append([]int32{}, encoded...)}, nil
	}
}

// Decode reads {"ids": […]}; "skip_special_tokens": true leaves out control tokens, "clean_up_tokenization_spaces": true the
// spaces that transformers leaves out under that name.
func Decode(tok *tokenizer.Tokenizer) Line {
	return func(input chat.Value) (any, error) {
		var ids []int32
		var visible, clean bool
		if err := fields(input, want{"ids", &ids, true}, want{"skip_special_tokens", &visible, false}, want{"clean_up_tokenization_spaces", &clean, false}); err != nil {
			return nil, err
		}
		for i, id := range ids {
			if id < 0 || int(id) >= tok.VocabSize() {
				return nil, fmt.Errorf("id %d at %d is outside the tokenizer's %d", id, i, tok.VocabSize())
			}
		}
		decode := tok.Decode
		if visible {
			decode = tok.DecodeVisible
		}
		text := decode(ids)
		if clean {
			text = tokenizer.CleanUp(text)
		}
		return struct {
			Text string `json:"text"`
		}{text}, nil
	}
}

// Prompt is the answer to a conversation.
type Prompt struct {
	Prompt string  `json:"prompt"`
	IDs    []int32 `json:"ids,omitempty"`    // as a rollout would give them to the engine; absent without a tokenizer
	Masked int     `json:"masked,omitempty"` // control strings in what users and tools say, which stay text
}

// Render reads {"messages": […], "tools": […], "add_generation_prompt": true}. Every other key is a variable of the template,
// as enable_thinking is; "chat_template_kwargs" holds more of them.
func Render(t *models.Text, now time.Time) Line {
	return func(input chat.Value) (any, error) {
		c, generate, variables, err := conversation(input)
		if err != nil {
			return nil, err
		}
		options := t.Options
		options.Now, options.Kwargs = now, slices.Concat(options.Kwargs, variables)
		template, err := chat.NewTemplates(t.Sources, t.Template, options)
		if err != nil {
			return nil, err
		}
		text, err := template.Render(c, generate)
		if err != nil {
			return nil, err
		}
		answer := Prompt{Prompt: text}
		if t.Tok == nil {
			return answer, nil
		}
		if !generate {
			answer.IDs = t.Tok.EncodeSpecial(text)
			return answer, nil
		}
		renderer, err := chat.NewRenderer(template, t.Tok)
		if err != nil {
			return nil, err
		}
		o, err := renderer.Prompt(c)
		answer.IDs, answer.Masked = o.IDs, o.Masked
		return answer, err
	}
}

// conversation reads what a template sees. The last of two values for a variable counts.
func conversation(input chat.Value) (c chat.Conversation, generate bool, variables []chat.Member, err error) {
	if input.Kind() != chat.KindObject {
		return c, false, nil, fmt.Errorf("the line is of type %s; want an object with messages", input.Kind())
	}
	generate = true
	for _, f := range input.Members() {
		switch f.Name {
		case "messages":
			c.Messages, err = chat.DecodeMessages(f.Value)
		case "tools":
			if f.Value.Kind() != chat.KindNull {
				c.Tools, err = chat.DecodeTools(f.Value)
			}
		case "add_generation_prompt":
			generate = f.Value.IsTrue()
			err = wantKind(f, chat.KindBool)
		case "chat_template_kwargs":
			variables = append(variables, f.Value.Members()...)
			err = wantKind(f, chat.KindObject)
		default:
			variables = append(variables, f)
		}
		if err != nil {
			return c, generate, nil, err
		}
	}
	return c, generate, variables, c.Validate()
}

func wantKind(f chat.Member, kinds ...chat.Kind) error {
	if !slices.Contains(kinds, f.Value.Kind()) {
		return fmt.Errorf("%s is of type %s; want %s", f.Name, f.Value.Kind(), kinds[0])
	}
	return nil
}

// want is a field of a line.
type want struct {
	name   string
	to     any // *string, *bool, *int or *[]int32
	needed bool
}

// fields reads an object that has these fields and no others.
func fields(input chat.Value, wants ...want) error {
	if input.Kind() != chat.KindObject {
		return fmt.Errorf("the line is of type %s; want an object with %s", input.Kind(), wants[0].name)
	}
	for _, f := range input.Members() {
		i := slices.IndexFunc(wants, func(w want) bool { return w.name == f.Name })
		if i < 0 {
			return fmt.Errorf("key %q is not understood (%s)", f.Name, known(wants))
		}
		if err := wants[i].read(f); err != nil {
			return err
		}
		wants[i].needed = false
	}
	for _, w := range wants {
		if w.needed {
			return fmt.Errorf("key %q is missing", w.name)
		}
	}
	return nil
}

// known lists the fields that there are.
func known(wants []want) string {
	var names []string
	for _, w := range wants {
		names = append(names, w.name)
	}
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " are"
}

func (w *want) read(f chat.Member) error {
	switch to := w.to.(type) {
	case *string:
		*to = f.Value.Text()
		return wantKind(f, chat.KindString)
	case *bool:
		*to = f.Value.IsTrue()
		return wantKind(f, chat.KindBool)
	case *int:
		n, _ := f.Value.Int64()
		*to = int(n)
		return wantKind(f, chat.KindInt)
	case *[]int32:
		for _, item := range f.Value.Items() {
			id, ok := item.Int64()
			if !ok || id < 0 || id > 1<<31-1 {
				return fmt.Errorf("%s holds %s; want ids", f.Name, item)
			}
			*to = append(*to, int32(id))
		}
		return wantKind(f, chat.KindArray)
	}
	panic(fmt.Sprintf("inspect: a field of type %T", w.to))
}
