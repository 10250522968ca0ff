// The JSON that replies of every wire are made of, appended piece by piece.

package wire

import (
	"encoding/json/jsontext"
	"strconv"
)

// Quote appends a string. Bytes that are no UTF-8 are replaced.
func Quote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // an error only says that bytes were replaced
	return dst
}

// Number appends an integer.
func Number(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// Real appends a number as exactly as 32 bits hold it.
func Real(dst []byte, x float32) []byte { return strconv.AppendFloat(dst, float64(x), 'g', -1, 32) }

// Comma appends what stands before element i of a list.
func Comma(dst []byte, i int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return dst
}

// octets appends the bytes of a text as a list of numbers.
func octets(dst []byte, text string) []byte {
	dst = append(dst, '[')
	for i := range len(text) {
		dst = Number(Comma(dst, i), int64(text[i]))
	}
	return append(dst, ']')
}

// Logprobs appends the list that OpenAI's wires have of a stretch of text.
func Logprobs(dst []byte, tokens []Token) []byte {
	dst = append(dst, '[')
	for i := range tokens {
		dst = append(logprob(append(Comma(dst, i), '{'), &tokens[i]), `,"top_logprobs":[`...)
		for k := range tokens[i].Top {
			dst = append(logprob(append(Comma(dst, k), '{'), &tokens[i].Top[k]), '}')
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, ']')
}

func logprob(dst []byte, t *Token) []byte {
	dst = Quote(append(dst, `"token":`...), t.Text)
	dst = Real(append(dst, `,"logprob":`...), t.Logp)
	return octets(append(dst, `,"bytes":`...), t.Text)
}
