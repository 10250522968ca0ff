// Which tokens the files beside a tokenizer.json name, as transformers reads them: tokenizer_config.json, and where that has no
// added_tokens_decoder also special_tokens_map.json, whose members replace those of the other, and added_tokens.json.

package tokenizer

import (
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"
)

// Files are the texts of a model folder that say what its tokens are; nil where one is absent.
type Files struct {
	Tokenizer     []byte // tokenizer.json
	Config        []byte // tokenizer_config.json
	SpecialTokens []byte // special_tokens_map.json
	AddedTokens   []byte // added_tokens.json
}

// NamedToken is a token under the name by which templates call it, such as bos_token.
type NamedToken struct{ Name, Content string }

// Named lists the tokens that have a name: first those that any tokenizer may have, then the model's own.
func (f Files) Named() ([]NamedToken, error) {
	s, err := f.settings()
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	var named []NamedToken
	for _, t := range s.named {
		named = append(named, NamedToken{t.name, t.Content})
	}
	return named, nil
}

// settings are what the files say of tokens.
type settings struct {
	decoder object       // added_tokens_decoder; nil when it is absent
	added   object       // added_tokens.json, where there is no decoder
	named   []namedToken // special, by name
	extra   []flagged    // special, without a name
}

type namedToken struct {
	name string
	flagged
}

// standardNames are in the order in which tokens that are missing get their ids.
var standardNames = []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}

const (
	extraName      = "extra_special_tokens"
	additionalName = "additional_special_tokens" // its older name
)

func (f Files) settings() (*settings, error) {
	config, err := readSmallObject("tokenizer_config.json", f.Config)
	if err != nil {
		return nil, err
	}
	if err := checkConfig(config); err != nil {
		return nil, fmt.Errorf("tokenizer_config.json: %w", err)
	}
	s := &settings{}
	var special object
	if decoder := config.get("added_tokens_decoder"); !null(decoder) {
		s.decoder, err = readObject("tokenizer_config.json: added_tokens_decoder", decoder)
	} else if special, err = readSmallObject("special_tokens_map.json", f.SpecialTokens); err == nil {
		s.added, err = readObject("added_tokens.json", f.AddedTokens)
	}
	if err != nil {
		return nil, err
	}
	if err := s.read(config, special); err != nil {
		from := "tokenizer_config.json"
		if special != nil {
			from += " or special_tokens_map.json"
		}
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return s, nil
}

// checkConfig refuses what would change ids and is not done here.
func checkConfig(config object) error {
	if config.get("split_special_tokens").Kind() == 't' {
		return fmt.Errorf("split_special_tokens: true is not supported")
	}
	var files []string
	if v := config.get("fast_tokenizer_files"); !null(v) {
		if err := readable(json.Unmarshal(v, &files)); err != nil {
			return fmt.Errorf("fast_tokenizer_files: %w", err)
		}
	}
	for _, file := range files {
		if file != "tokenizer.json" {
			return fmt.Errorf("fast_tokenizer_files: some versions of transformers read %.60q in place of tokenizer.json, which is not supported", file)
		}
	}
	return nil
}

// read sorts out the names. A name of the model's own keeps what config says of it as text; of the others, special counts more.
func (s *settings) read(config, special object) error {
	if additional := config.get(additionalName); additional != nil && emptyValue(config.get(extraName)) {
		config = config.without(additionalName).with(extraName, additional)
	}
	var own object
	for _, m := range config {
		if isOwn(m.name) && m.value.Kind() == '"' {
			own, config = own.with(m.name, m.value), config.without(m.name)
		}
	}
	own, config, err := named(own, config)
	if err != nil {
		return err
	}
	if config, err = overlaid(config, special); err != nil {
		return err
	}
	if own, config, err = named(own, config); err != nil {
		return err
	}
	all := object{}
	for _, name := range standardNames {
		all = all.with(name, config.get(name))
	}
	for _, m := range slices.Concat(config, own) {
		if isOwn(m.name) {
			all = all.with(m.name, m.value)
		}
	}
	return s.decode(all, config)
}

// overlaid is config with the members of special in place of its own. Lists of tokens without a name are joined.
func overlaid(config, special object) (object, error) {
	for _, m := range special {
		value := m.value
		if m.name == extraName && value.Kind() == '[' {
			var err error
			if value, err = united(config.get(extraName), value); err != nil {
				return nil, fmt.Errorf("%s: %w", extraName, err)
			}
		}
		config = config.with(m.name, value)
	}
	return config, nil
}

// named moves the tokens to own that extra_special_tokens gives names.
func named(own, config object) (object, object, error) {
	extra := config.get(extraName)
	if extra.Kind() != '{' {
		return own, config, nil
	}
	more, err := readSmallObject(extraName, extra)
	for _, m := range more {
		own = own.with(m.name, m.value)
	}
	return own, config.without(extraName), err
}

// decode reads the tokens themselves.
func (s *settings) decode(named, config object) error {
	for _, m := range named {
		t := namedToken{name: m.name}
		if k := m.value.Kind(); k != '"' && k != '{' && (isOwn(m.name) || null(m.value)) {
			continue // add_bos_token and its like are no tokens
		}
		if err := json.Unmarshal(m.value, &t.flagged); err != nil {
			return fmt.Errorf("%s: %w", m.name, readable(err))
		}
		if t.Content != "" {
			s.named = append(s.named, t)
		}
	}
	extra := config.get(extraName)
	if extra == nil {
		extra = config.get(additionalName)
	}
	if null(extra) {
		return nil
	}
	if err := json.Unmarshal(extra, &s.extra); err != nil {
		return fmt.Errorf("%s: %w", extraName, readable(err))
	}
	return nil
}

// isOwn reports whether a member names a token that only some models have.
func isOwn(name string) bool {
	return strings.HasSuffix(name, "_token") && !slices.Contains(standardNames, name)
}
