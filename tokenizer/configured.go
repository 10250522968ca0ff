// What tokenizer_config.json adds to a tokenizer.json. As transformers has it, added_tokens_decoder decides how added tokens
// are found, tokens that are named (eos_token and so on) are special, and those that are missing are added. Its
// add_bos_token and add_eos_token change nothing where there is a tokenizer.json, whose post_processor says it.

package tokenizer

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// NewConfigured builds the tokenizer of a model folder from the bytes of its tokenizer.json and its tokenizer_config.json,
// which may be nil. Where the two contradict each other about an id it is refused. JSON gives the tokenizer.json that says
// what both say.
func NewConfigured(file, config []byte) (*Tokenizer, error) {
	t, err := New(file)
	if err != nil || config == nil {
		return t, err
	}
	added, err := t.configured(config)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: tokenizer_config.json: %w", err)
	}
	if slices.Equal(added, t.added) {
		return t, nil
	}
	if file, err = withAdded(file, added); err != nil {
		return nil, fmt.Errorf("tokenizer: tokenizer_config.json: %w", err)
	}
	if t, err = New(file); err != nil {
		return nil, fmt.Errorf("with the tokens of tokenizer_config.json: %w", err)
	}
	return t, nil
}

// tokenConfig is what tokenizer_config.json says of tokens.
type tokenConfig struct {
	Decoder    map[string]flagged `json:"added_tokens_decoder"`
	BOS        flagged            `json:"bos_token"`
	EOS        flagged            `json:"eos_token"`
	UNK        flagged            `json:"unk_token"`
	SEP        flagged            `json:"sep_token"`
	PAD        flagged            `json:"pad_token"`
	CLS        flagged            `json:"cls_token"`
	MASK       flagged            `json:"mask_token"`
	Additional []flagged          `json:"additional_special_tokens"`
	Extra      jsontext.Value     `json:"extra_special_tokens"` // a list, or an object from names to tokens
}

// flagged is a token as text, or as an object with its flags. Content is "" for null.
type flagged struct {
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized *bool  `json:"normalized"` // by default where the token is not special
	Special    bool   `json:"special"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *flagged) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '"' {
		return json.Unmarshal(data, &f.Content)
	}
	type object flagged
	return json.Unmarshal(data, (*object)(f))
}

// token is the added token; named ones are special.
func (f flagged) token(id int32, named bool) AddedToken {
	a := AddedToken{ID: id, Content: f.Content, SingleWord: f.SingleWord, LStrip: f.LStrip, RStrip: f.RStrip, Special: f.Special || named}
	a.Normalized = !a.Special
	if f.Normalized != nil {
		a.Normalized = *f.Normalized
	}
	return a
}

// configured are the added tokens as the configuration leaves them, by id.
func (t *Tokenizer) configured(config []byte) ([]AddedToken, error) {
	var c tokenConfig
	if err := readable(json.Unmarshal(config, &c)); err != nil {
		return nil, err
	}
	extra, err := c.extra()
	if err != nil {
		return nil, fmt.Errorf("extra_special_tokens: %w", err)
	}
	named := []flagged{c.BOS, c.EOS, c.UNK, c.SEP, c.PAD, c.CLS, c.MASK}
	isNamed := func(content string) bool {
		return slices.ContainsFunc(named, func(f flagged) bool { return f.Content == content })
	}
	d := additions{t: t, tokens: t.AddedTokens(), next: int32(t.VocabSize())}
	if c.Decoder == nil {
		for i := range d.tokens {
			d.tokens[i].Special = d.tokens[i].Special || isNamed(d.tokens[i].Content)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.Decoder), byNumber) {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("added_tokens_decoder: %.40q is no id", key)
		}
		entry := c.Decoder[key]
		if err := d.decide(entry.token(int32(id), isNamed(entry.Content))); err != nil {
			return nil, fmt.Errorf("added_tokens_decoder: %w", err)
		}
	}
	for _, f := range slices.Concat(named, c.Additional, extra) {
		d.require(f)
	}
	slices.SortFunc(d.tokens, func(a, b AddedToken) int { return cmp.Compare(a.ID, b.ID) })
	return d.tokens, nil
}

func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

func (c *tokenConfig) extra() (extra []flagged, err error) {
	switch c.Extra.Kind() {
	case '[':
		return extra, json.Unmarshal(c.Extra, &extra)
	case '{':
		var byName map[string]flagged
		err := json.Unmarshal(c.Extra, &byName)
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			extra = append(extra, byName[name])
		}
		return extra, err
	}
	return nil, nil
}

// additions are added tokens while a configuration changes them.
type additions struct {
	t      *Tokenizer
	tokens []AddedToken
	next   int32 // the id of the next token that the vocabulary lacks
}

// find returns the index of a token among the added ones, -1 when it is not there.
func (d *additions) find(content string) int {
	return slices.IndexFunc(d.tokens, func(a AddedToken) bool { return a.Content == content })
}

// decide gives a token the flags of its entry, and adds it where it is missing.
func (d *additions) decide(entry AddedToken) error {
	if entry.Content == "" {
		return fmt.Errorf("the token with id %d has no content", entry.ID)
	}
	id, known := d.t.ID(entry.Content)
	if !known {
		id = d.next
	}
	at := d.find(entry.Content)
	if at >= 0 {
		id, known = d.tokens[at].ID, true
	}
	if id != entry.ID {
		where := "tokenizer.json has it with"
		if !known {
			where = "it is not in tokenizer.json, where the next free id is"
		}
		return fmt.Errorf("token %.60q has id %d, but %s %d", entry.Content, entry.ID, where, id)
	}
	if at >= 0 {
		d.tokens[at] = entry
		return nil
	}
	d.add(entry)
	return nil
}

// require adds a special token that is missing.
func (d *additions) require(f flagged) {
	if f.Content == "" || d.find(f.Content) >= 0 {
		return
	}
	id, known := d.t.ID(f.Content)
	if !known {
		id = d.next
	}
	d.add(f.token(id, true))
}

func (d *additions) add(token AddedToken) {
	d.tokens = append(d.tokens, token)
	d.next = max(d.next, token.ID+1)
}

// withAdded is the file with other added tokens.
func withAdded(file []byte, added []AddedToken) ([]byte, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(file, &members); err != nil {
		return nil, err
	}
	list, err := json.Marshal(added)
	if err != nil {
		return nil, err
	}
	members["added_tokens"] = list
	return json.Marshal(members, json.Deterministic(true))
}
