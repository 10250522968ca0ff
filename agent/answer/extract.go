// What counts as the answer of a text, and when two answers are the same. In this order:
//
//	<answer>72</answer>     the last one
//	\boxed{72}              the last one whose braces balance
//	#### 72                 the last one, to the end of its line: how GSM8K marks the answer
//	the last number         of a reply without a mark, when the label is a number
//	the whole text          otherwise

package answer

import (
	"regexp"
	"strings"
	"unicode"
)

// Correct reports whether the reply's answer is the label's. An empty answer is never correct.
func Correct(reply, label string) bool {
	want, ok := marked(label)
	if !ok {
		want = label
	}
	want = normal(want)
	got, ok := marked(reply)
	if !ok {
		got = reply
		if _, numeric := decimal(want); numeric {
			got = lastNumber(reply)
		}
	}
	got = normal(got)
	return got != "" && got == want
}

// marked finds the answer that a text marks as such.
func marked(text string) (string, bool) {
	for _, find := range []func(string) (string, bool){tagged, boxed, hashed} {
		if answer, ok := find(text); ok {
			return answer, true
		}
	}
	return "", false
}

func tagged(text string) (string, bool) {
	const open, end = "<answer>", "</answer>"
	last := strings.LastIndex(text, end)
	if last < 0 {
		return "", false
	}
	first := strings.LastIndex(text[:last], open)
	if first < 0 {
		return "", false
	}
	return text[first+len(open) : last], true
}

func boxed(text string) (string, bool) {
	const open = `\boxed{`
	for end := len(text); ; {
		i := strings.LastIndex(text[:end], open)
		if i < 0 {
			return "", false
		}
		if inside, ok := balanced(text[i+len(open) : end]); ok {
			return inside, true
		}
		end = i
	}
}

// balanced is the text up to the brace that closes what was opened before it.
func balanced(text string) (string, bool) {
	depth := 1
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[:i], true
			}
		}
	}
	return "", false
}

func hashed(text string) (string, bool) {
	i := strings.LastIndex(text, "####")
	if i < 0 {
		return "", false
	}
	line, _, _ := strings.Cut(text[i+len("####"):], "\n")
	return line, true
}

var number = regexp.MustCompile(`-?\$?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)`)

// lastNumber is "" when there is none. A minus behind a digit or a letter is an operator or a hyphen.
func lastNumber(text string) string {
	all := number.FindAllStringIndex(text, -1)
	if len(all) == 0 {
		return ""
	}
	start, end := all[len(all)-1][0], all[len(all)-1][1]
	if text[start] == '-' && start > 0 && isWord(text[start-1]) {
		start++
	}
	return text[start:end]
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == ')'
}

// normal drops what does not matter: blanks and dollar signs around, periods behind, and how a number is written.
func normal(answer string) string {
	around := func(r rune) bool { return unicode.IsSpace(r) || r == '$' || r == '\\' } // \$ is how LaTeX writes a dollar
	answer = strings.TrimLeftFunc(answer, around)
	answer = strings.TrimRightFunc(answer, func(r rune) bool { return around(r) || r == '.' })
	if d, ok := decimal(answer); ok {
		return d
	}
	return answer
}

var written = regexp.MustCompile(`^([-+]?)\$?(\d*|\d{1,3}(?:,\d{3})+)(?:\.(\d*))?$`)

// decimal writes a number in one way only: 1,200.50 and $+1200.5 are both 1200.5.
func decimal(answer string) (string, bool) {
	m := written.FindStringSubmatch(answer)
	if m == nil || m[2] == "" && m[3] == "" {
		return "", false
	}
	d := strings.TrimLeft(strings.ReplaceAll(m[2], ",", ""), "0")
	if d == "" {
		d = "0"
	}
	if fraction := strings.TrimRight(m[3], "0"); fraction != "" {
		d += "." + fraction
	}
	if m[1] == "-" && d != "0" {
		d = "-" + d
	}
	return d, true
}
