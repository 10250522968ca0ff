// How numbers and text become JSON: NaN is data, so it survives; a stray byte never costs a line.

package metrics

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math"
)

// options hold for every event and rollout: maps are sorted, invalid UTF-8 becomes U+FFFD, and numbers that JSON cannot
// spell are the strings "NaN", "Infinity" and "-Infinity".
var options = json.JoinOptions(
	json.Deterministic(true),
	jsontext.AllowInvalidUTF8(true),
	json.WithMarshalers(json.JoinMarshalers(
		json.MarshalToFunc(writeNumber[float64]),
		json.MarshalToFunc(writeNumber[float32]),
	)),
	json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(readNumber[float64]),
		json.UnmarshalFromFunc(readNumber[float32]),
	)),
)

// Encode gives v as JSON in the spelling of events.jsonl and rollouts.jsonl.
func Encode(v any) ([]byte, error) { return json.Marshal(v, options) }

type float interface{ float32 | float64 }

func writeNumber[F float](enc *jsontext.Encoder, v F) error {
	switch f := float64(v); {
	case math.IsNaN(f):
		return enc.WriteToken(jsontext.String("NaN"))
	case math.IsInf(f, 1):
		return enc.WriteToken(jsontext.String("Infinity"))
	case math.IsInf(f, -1):
		return enc.WriteToken(jsontext.String("-Infinity"))
	}
	return errors.ErrUnsupported // the usual spelling
}

func readNumber[F float](dec *jsontext.Decoder, v *F) error {
	if dec.PeekKind() != jsontext.KindString {
		return errors.ErrUnsupported
	}
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	switch token.String() {
	case "NaN":
		*v = F(math.NaN())
	case "Infinity":
		*v = F(math.Inf(1))
	case "-Infinity":
		*v = F(math.Inf(-1))
	default:
		return fmt.Errorf("%q is not a number", token.String())
	}
	return nil
}

// Runs is a slice whose neighbours are often equal: in JSON it is a list of pairs [value, count].
type Runs[T comparable] []T

// Repeat adds n times v.
func (r Runs[T]) Repeat(v T, n int) Runs[T] {
	for range n {
		r = append(r, v)
	}
	return r
}

// MarshalJSONTo implements json.MarshalerTo.
func (r Runs[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for start := 0; start < len(r); {
		end := start + 1
		for end < len(r) && r[end] == r[start] {
			end++
		}
		if err := writeRun(enc, r[start], end-start); err != nil {
			return err
		}
		start = end
	}
	return enc.WriteToken(jsontext.EndArray)
}

func writeRun[T any](enc *jsontext.Encoder, v T, count int) error {
	return errors.Join(
		enc.WriteToken(jsontext.BeginArray),
		json.MarshalEncode(enc, v),
		enc.WriteToken(jsontext.Int(int64(count))),
		enc.WriteToken(jsontext.EndArray),
	)
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. A count beyond MaxTokens is refused.
func (r *Runs[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if kind := dec.PeekKind(); kind != jsontext.KindBeginArray {
		return fmt.Errorf("runs are a list of pairs, not %v", kind)
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	*r = (*r)[:0]
	for dec.PeekKind() == jsontext.KindBeginArray {
		if err := r.readRun(dec); err != nil {
			return err
		}
	}
	token, err := dec.ReadToken()
	if err == nil && token.Kind() != jsontext.KindEndArray {
		err = fmt.Errorf("runs are a list of pairs, not of %v", token.Kind())
	}
	return err
}

func (r *Runs[T]) readRun(dec *jsontext.Decoder) error {
	var v T
	var count int64
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	if err := json.UnmarshalDecode(dec, &v); err != nil {
		return err
	}
	if err := json.UnmarshalDecode(dec, &count); err != nil {
		return err
	}
	if count < 1 || count > int64(MaxTokens-len(*r)) {
		return fmt.Errorf("a run of %d; between 1 and %d are left", count, MaxTokens-len(*r))
	}
	*r = r.Repeat(v, int(count))
	token, err := dec.ReadToken()
	if err == nil && token.Kind() != jsontext.KindEndArray {
		err = errors.New("a run has two members")
	}
	return err
}
