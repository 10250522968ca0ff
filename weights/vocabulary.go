// The one question asked of a tokenizer.json here: how many ids does it need?

package weights

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
)

// topID returns the highest id in model.vocab and added_tokens, and its token.
func topID(tokenizerJSON []byte) (id int64, token string, err error) {
	top := highest{id: -1}
	var f struct {
		Model struct {
			Vocab *highest `json:"vocab"`
		} `json:"model"`
		Added []struct {
			ID      int64  `json:"id"`
			Content string `json:"content"`
		} `json:"added_tokens"`
	}
	f.Model.Vocab = &top
	if err := json.Unmarshal(tokenizerJSON, &f); err != nil {
		return 0, "", shorten(err)
	}
	for _, a := range f.Added {
		if a.ID > top.id {
			top = highest{a.ID, a.Content}
		}
	}
	if top.id < 0 {
		return 0, "", fmt.Errorf("model.vocab: missing")
	}
	return top.id, top.token, nil
}

// highest reads an object of tokens and ids and keeps the highest id only.
type highest struct {
	id    int64
	token string
}

func (h *highest) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if tok.Kind() != '{' {
		return fmt.Errorf("must be an object of token and id")
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		token := name.String()
		var id int64
		if err := json.UnmarshalDecode(dec, &id); err != nil {
			return fmt.Errorf("%q: %w", token, err)
		}
		if id > h.id {
			h.id, h.token = id, token
		}
	}
	_, err = dec.ReadToken()
	return err
}
