// What requests ask of sampling, as all wires spell it.

package wire

import (
	"regexp"
	"slices"
	"strconv"

	"molt/chat"
)

// Bounds of what requests may ask of sampling.
const (
	MaxTop  = 20   // alternatives of a token
	maxBias = 4096 // entries
	maxIDs  = 64   // stop tokens
)

// Bias is added to the logit of an id.
type Bias struct {
	ID    int32
	Value float32
}

// Common reads what is spelled alike on every wire.
func (f *Fields) Common(r *Request) {
	r.Model = f.Text("model")
	r.Stream = f.Flag("stream", false)
	o := &r.Options
	o.Choices = 1
	o.Temperature = f.temperature("temperature")
	o.TopP = f.Number("top_p", 0, 1)
	o.MinP = f.Number("min_p", 0, 1)
	if k := f.Int("top_k", -1, 1<<31-1); k != nil {
		n := int(max(*k, 0))
		o.TopK = &n
	}
	if s := f.Int("seed", -1<<63, 1<<63-1); s != nil {
		seed := uint64(*s)
		o.Seed = &seed
	}
	o.TokenIDs = f.Flag("return_token_ids", false)
	o.Frequency = f.Number("frequency_penalty", -2, 2)
	o.Presence = f.Number("presence_penalty", -2, 2)
	o.Repetition = f.Number("repetition_penalty", 0.01, 100)
	if n := f.Int("min_tokens", 0, 1<<31-1); n != nil {
		o.MinTokens = int(*n)
	}
	o.IgnoreEnd = f.Flag("ignore_eos", false)
	f.bias(o)
	f.stopTokens(o)
	f.variables(o)
}

// bias reads an object of ids and what is added to their logits.
func (f *Fields) bias(o *Options) {
	v, ok := f.Get("logit_bias")
	if !ok {
		return
	}
	in := Read(v, f.At("logit_bias"))
	if len(v.Members()) > maxBias {
		in.fail(in.Path, "has more than %d entries", maxBias)
	}
	for _, m := range v.Members() {
		id, err := strconv.ParseInt(m.Name, 10, 32)
		if err != nil || id < 0 {
			in.fail(in.Path, "names %.40q; want the id of a token", m.Name)
		}
		if value := in.Number(m.Name, -100, 100); value != nil {
			o.Bias = append(o.Bias, Bias{int32(id), float32(*value)})
		}
	}
	slices.SortFunc(o.Bias, func(a, b Bias) int { return int(a.ID - b.ID) })
	f.adopt(in)
}

func (f *Fields) stopTokens(o *Options) {
	for _, v := range f.Items("stop_token_ids") {
		id, ok := v.Int64()
		if !ok || id < 0 || id > 1<<31-1 || len(o.StopTokens) == maxIDs {
			f.fail(f.At("stop_token_ids"), "holds %.40s; want up to %d ids of tokens", v, maxIDs)
			return
		}
		o.StopTokens = append(o.StopTokens, int32(id))
	}
}

// What a template may be told: names of variables, and words that cannot be mistaken for its own markup.
var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	plainWords   = regexp.MustCompile(`^[A-Za-z0-9 .,:/_+-]{0,200}$`)
	taken        = []string{"messages", "tools", "documents", "add_generation_prompt", "bos_token", "eos_token", "strftime_now"}
)

// variables reads the variables of the chat template that a request sets.
func (f *Fields) variables(o *Options) {
	v, ok := f.Get("chat_template_kwargs")
	if !ok {
		return
	}
	in := Read(v, f.At("chat_template_kwargs"))
	for _, m := range v.Members() {
		if !variableName.MatchString(m.Name) || slices.Contains(taken, m.Name) {
			in.fail(in.Path, "sets %.60q, which is no variable that a request may set", m.Name)
		}
		switch kind := m.Value.Kind(); {
		case kind == chat.KindArray, kind == chat.KindObject, kind == chat.KindString && !plainWords.MatchString(m.Value.Text()):
			in.fail(in.At(m.Name), "is %.60s; want true, false, a number or plain words", m.Value)
		}
	}
	o.Variables = slices.Clone(v.Members())
	f.adopt(in)
}

// adopt takes the problem of an inner object.
func (f *Fields) adopt(in *Fields) {
	if f.Problem == nil {
		f.Problem = in.Problem
	}
}

// Alternatives reads how many alternatives of each token are reported. They come with log-probs only.
func (f *Fields) Alternatives(o *Options) {
	n := f.Int("top_logprobs", 0, MaxTop)
	if n == nil || *n == 0 {
		return
	}
	if o.Top = int(*n); !o.Logprobs {
		f.fail(f.At("top_logprobs"), "is %d, but log-probs are not asked for", *n)
	}
}
