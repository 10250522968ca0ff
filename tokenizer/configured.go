// What the files beside a tokenizer.json add to it. As transformers has it, added_tokens_decoder decides how added tokens
// are found, tokens that are named (eos_token and so on) are special, and those that are missing are added. Its
// add_bos_token and add_eos_token change nothing where there is a tokenizer.json, whose post_processor says it.

package tokenizer

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strconv"
)

// NewConfigured builds the tokenizer of a model folder. Where two files contradict each other about an id it is refused.
// JSON gives the tokenizer.json that says what all of them say.
func NewConfigured(f Files) (*Tokenizer, error) {
	t, err := New(f.Tokenizer)
	if err != nil {
		return nil, err
	}
	s, err := f.settings()
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	added, err := t.configured(s)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	if slices.Equal(added, t.added) {
		return t, nil
	}
	file, err := withAdded(f.Tokenizer, added)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: tokenizer_config.json: %w", err)
	}
	if t, err = New(file); err != nil {
		return nil, fmt.Errorf("with the tokens of tokenizer_config.json: %w", err)
	}
	return t, nil
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

// configured are the added tokens as the settings leave them, by id.
func (t *Tokenizer) configured(s *settings) ([]AddedToken, error) {
	d := additions{t: t, tokens: t.AddedTokens(), at: make(map[string]int), next: int32(t.VocabSize())}
	named := make(map[string]bool, len(s.named))
	for _, n := range s.named {
		named[n.Content] = true
	}
	for i := range d.tokens {
		d.at[d.tokens[i].Content] = i
		d.tokens[i].Special = d.tokens[i].Special || s.decoder == nil && named[d.tokens[i].Content]
	}
	if err := d.decideAll(s.decoder, named); err != nil {
		return nil, fmt.Errorf("tokenizer_config.json: added_tokens_decoder: %w", err)
	}
	if err := d.addOlder(s, named); err != nil {
		return nil, fmt.Errorf("added_tokens.json: %w", err)
	}
	for _, n := range s.named {
		d.require(n.flagged)
	}
	for _, f := range s.extra {
		d.require(f)
	}
	slices.SortFunc(d.tokens, func(a, b AddedToken) int { return cmp.Compare(a.ID, b.ID) })
	return d.tokens, nil
}

// additions are added tokens while settings change them.
type additions struct {
	t      *Tokenizer
	tokens []AddedToken
	at     map[string]int // by content: the index in tokens
	next   int32          // the id of the next token that the vocabulary lacks
}

// decideAll takes over the entries of added_tokens_decoder, in the order of their ids.
func (d *additions) decideAll(decoder object, named map[string]bool) error {
	slices.SortFunc(decoder, func(a, b member) int {
		return cmp.Or(cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
	})
	for _, m := range decoder {
		id, err := strconv.ParseInt(m.name, 10, 32)
		if err != nil {
			return fmt.Errorf("%.40q is no id", m.name)
		}
		var entry flagged
		if err := json.Unmarshal(m.value, &entry); err != nil {
			return fmt.Errorf("%s: %w", m.name, readable(err))
		}
		if err := d.decide(entry.token(int32(id), named[entry.Content])); err != nil {
			return err
		}
	}
	return nil
}

// addOlder adds what added_tokens.json lists, {"token": id, …}.
func (d *additions) addOlder(s *settings, named map[string]bool) error {
	for _, f := range s.extra {
		named[f.Content] = true
	}
	var entries []AddedToken
	for _, m := range s.added {
		var id int64
		if err := json.Unmarshal(m.value, &id); err != nil || id < 0 || id > maxID {
			return fmt.Errorf("%.60q: %.40s is no id", m.name, m.value)
		}
		entry := flagged{Content: m.name}.token(int32(id), named[m.name])
		if at, ok := d.at[m.name]; ok {
			entry = d.tokens[at] // tokenizer.json has its flags
			entry.ID = int32(id)
		}
		entries = append(entries, entry)
	}
	slices.SortStableFunc(entries, func(a, b AddedToken) int { return cmp.Compare(a.ID, b.ID) })
	for _, entry := range entries {
		if err := d.decide(entry); err != nil {
			return err
		}
	}
	return nil
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
	at, added := d.at[entry.Content]
	if added {
		id, known = d.tokens[at].ID, true
	}
	if id != entry.ID {
		where := "tokenizer.json has it with"
		if !known {
			where = "it is not in tokenizer.json, where the next free id is"
		}
		return fmt.Errorf("token %.60q has id %d, but %s %d", entry.Content, entry.ID, where, id)
	}
	if added {
		d.tokens[at] = entry
		return nil
	}
	d.add(entry)
	return nil
}

// require adds a special token that is missing.
func (d *additions) require(f flagged) {
	if _, added := d.at[f.Content]; added || f.Content == "" {
		return
	}
	id, known := d.t.ID(f.Content)
	if !known {
		id = d.next
	}
	d.add(f.token(id, true))
}

func (d *additions) add(token AddedToken) {
	d.at[token.Content] = len(d.tokens)
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
