// Replies that must be something: calls of certain tools, a value in a format. The engine may sample only what keeps them on
// the way there. Such a turn is kept and exported, and does not train.

package capture

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"molt/chat"
	"molt/chat/grammar"
	"molt/chat/shape"
	"molt/engine"
	"molt/gateway/wire"
	"molt/tokenizer"
)

// demand is what the replies to one request must be.
type demand struct {
	*bound
	ends []int32 // tokens that end a turn
	why  string  // why its turns do not train
}

// begin makes the constraint of one reply that has sampled these ids.
func (d *demand) begin(sampled []engine.Token) engine.Constraint {
	w := d.grammar.Walk(d.words, d.ends, d)
	for _, t := range sampled {
		w.Take(t.ID)
	}
	return w
}

// wants says what a request demands, but for the schemas of tools. param names the request's field, "" for no demand.
func (g *Gateway) wants(r *wire.Request) (d shape.Demand, param string, problem *wire.Problem) {
	o := &r.Options
	strict := o.Choose.Mode != wire.None && r.Names.Strict()
	switch {
	case o.Choose.Mode == wire.Required:
		d.Must, param = true, "tool_choice"
	case o.Format.Param != "":
		d.Format, d.Schema, param = true, o.Format.Schema, o.Format.Param
	case o.Choose.Only != nil:
		param = "tool_choice"
	case strict && g.config.Policy == Refuse:
		return d, "", wire.Badf("tools", "ask for strict arguments, and this run samples with its own settings only; leave strict out")
	case strict && g.config.Policy == Keep:
		g.counts.add(func(c *Counts) { c.Overridden++ })
		return d, "", nil
	case strict:
		param = "strict"
	default:
		return d, "", nil
	}
	d.Single = o.Single
	if o.Choose.Mode != wire.None {
		for _, t := range o.Choose.Offers(r.Tools) {
			d.Tools = append(d.Tools, shape.Tool{Name: t.Name, Strict: r.Names.Of(t.Name).Strict && g.config.Policy != Keep})
		}
	}
	return d, param, nil
}

// schemas completes the tools of a demand.
func schemas(d shape.Demand, r *wire.Request) shape.Demand {
	d.Tools = slices.Clone(d.Tools)
	for i, t := range r.Options.Choose.Offers(r.Tools)[:len(d.Tools)] {
		d.Tools[i].Schema = parameters(t)
	}
	return d
}

// parameters is the schema of a tool's arguments.
func parameters(t chat.ToolSpec) []byte {
	function, _ := t.Spec.Get("function")
	schema, ok := function.Get("parameters")
	if !ok {
		return nil
	}
	return schema.AppendJSON(nil)
}

// demand compiles what a request demands of its replies behind a prompt; nil for nothing, and for calls that an engine
// without constraints is made to begin.
func (g *Gateway) demand(r *wire.Request, prompt []int32) (*demand, *wire.Problem) {
	want, param, p := g.wants(r)
	if p != nil || param == "" {
		return nil, p
	}
	refuse := func(why string) (*demand, *wire.Problem) {
		strict := slices.ContainsFunc(want.Tools, func(t shape.Tool) bool { return t.Strict })
		if want.Must && !strict && len(r.Options.Choose.Only) <= 1 {
			return nil, nil
		}
		return nil, wire.Badf(cmp.Or(field[param], param), "cannot be kept here, because %s; leave it out", why)
	}
	words := g.words()
	switch {
	case !g.config.Generator.Capabilities().Constrained:
		return refuse("the engine does not constrain replies")
	case words == nil:
		return refuse("the model's tokens have no spelling of their own")
	case len(g.config.Sampling.StopTokens) == 0:
		return refuse("the model has no token that ends a turn")
	case r.Options.IgnoreEnd:
		return nil, wire.Badf("ignore_eos", "is set, and %s demands an end; leave it out", cmp.Or(field[param], param))
	}
	o := &r.Options
	speech := shape.Speech{
		Family: g.config.Family, Prompt: g.tail(prompt), Code: g.code(), Ends: g.config.Sampling.StopTokens,
		Quiet: o.Hidden || o.Effort == "none" || o.Think != nil && !*o.Think,
	}
	made, err := g.grammars.get(key(r, want, speech), func() (*bound, error) {
		made, err := shape.Reply(speech, schemas(want, r))
		if err != nil {
			return nil, err
		}
		return &bound{grammar: made, words: words}, nil
	})
	if err != nil {
		return nil, wire.Badf(cmp.Or(field[param], param), "cannot be kept: %v", err)
	}
	return &demand{made, g.config.Sampling.StopTokens, param}, nil
}

// field is where a demand stands in a request, where that has another name.
var field = map[string]string{"strict": "tools"}

// key names a grammar: what it is made from.
func key(r *wire.Request, d shape.Demand, s shape.Speech) string {
	h := sha256.New()
	tail := s.Prompt[max(0, len(s.Prompt)-64):]
	fmt.Fprintf(h, "%x %v %v %v %v %q %q\n", r.ToolsKey, d.Must, d.Single, d.Format, s.Quiet, d.Schema, tail)
	for _, t := range d.Tools {
		fmt.Fprintf(h, "%q %v\n", t.Name, t.Strict)
	}
	return string(h.Sum(nil))
}

// bound is a grammar over the model's vocabulary, and what its walks have found.
type bound struct {
	grammar *grammar.Grammar
	words   *grammar.Vocabulary
	places  sync.Map // grammar.Place → grammar.Local
	kept    atomic.Int64
}

// maxPlaces bounds what walks leave for each other; beyond it they find it anew.
const maxPlaces = 1 << 10

// Load implements grammar.Memory.
func (g *bound) Load(p grammar.Place) (grammar.Local, bool) {
	found, ok := g.places.Load(p)
	if !ok {
		return grammar.Local{}, false
	}
	return found.(grammar.Local), true
}

// Store implements grammar.Memory.
func (g *bound) Store(p grammar.Place, l grammar.Local) {
	if g.kept.Add(1) <= maxPlaces {
		g.places.Store(p, l)
	}
}

// grammars are those that were made. It is safe for concurrent use.
type grammars struct {
	mu   sync.Mutex
	made map[string]*bound
}

// maxGrammars bounds what is kept; when it is full it starts anew.
const maxGrammars = 32

func (g *grammars) get(key string, build func() (*bound, error)) (*bound, error) {
	g.mu.Lock()
	made, ok := g.made[key]
	g.mu.Unlock()
	if ok {
		return made, nil
	}
	made, err := build()
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.made == nil || len(g.made) >= maxGrammars {
		g.made = map[string]*bound{}
	}
	g.made[key] = made
	return made, nil
}

// newWords reads the vocabulary; nil where ids have no spelling of their own. Control tokens are no text.
func newWords(tok *tokenizer.Tokenizer, size int) *grammar.Vocabulary {
	spell, ok := tok.Spells()
	if !ok {
		return nil
	}
	return grammar.NewVocabulary(size, func(id int32) []byte {
		if tok.IsControl(id) || tok.IsSpecial(id) {
			return nil
		}
		return spell(id)
	})
}

// newCode spells the control tokens in markup, the longest first.
func newCode(tok *tokenizer.Tokenizer) func(string) string {
	added := slices.DeleteFunc(tok.AddedTokens(), func(a tokenizer.AddedToken) bool { return !tok.IsControl(a.ID) && !tok.IsSpecial(a.ID) })
	slices.SortStableFunc(added, func(a, b tokenizer.AddedToken) int { return cmp.Compare(len(b.Content), len(a.Content)) })
	var pairs []string
	for _, a := range added {
		pairs = append(pairs, a.Content, grammar.Control(a.ID))
	}
	return strings.NewReplacer(pairs...).Replace
}
