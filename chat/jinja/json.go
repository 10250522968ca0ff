// The filter tojson, which transformers replaces by Python's json.dumps.

package jinja

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// jsonWriter is one call of json.dumps.
type jsonWriter struct {
	r          *render
	b          strings.Builder
	ascii      bool
	lines      bool   // there is an indentation
	indent     string // of one level
	item, key  string // separators
	sorted     bool
	paid, deep int
}

func tojson(r *render, v any, a arguments) (any, error) {
	p, err := a.bind("ensure_ascii", "indent", "separators", "sort_keys")
	if err != nil {
		return nil, err
	}
	w := &jsonWriter{r: r, ascii: isTrue(p[0]), sorted: isTrue(p[3]), item: ", ", key: ": "}
	if given(p[1]) && p[1] != nil {
		if err := w.indentation(p[1]); err != nil {
			return nil, err
		}
	}
	if given(p[2]) && p[2] != nil {
		l, ok := p[2].(*List)
		if !ok || len(l.items) != 2 {
			return nil, fmt.Errorf("tojson: separators are two strings")
		}
		item, ok := text(l.items[0])
		key, okToo := text(l.items[1])
		if !ok || !okToo {
			return nil, fmt.Errorf("tojson: separators are two strings")
		}
		w.item, w.key = item, key
	}
	if err := w.write(v); err != nil {
		return nil, err
	}
	return w.b.String(), w.pay()
}

// given reports whether a parameter was given.
func given(v any) bool { return v != absent{} }

// isTrue reports whether a parameter was given and is true.
func isTrue(v any) bool { return given(v) && truth(v) }

func (w *jsonWriter) indentation(v any) error {
	w.lines, w.item = true, ","
	if s, ok := text(v); ok {
		w.indent = s
	} else if n, ok := integer(v); ok {
		w.indent = strings.Repeat(" ", int(max(0, min(n, 64))))
		if n > 64 {
			return fmt.Errorf("tojson: an indentation of %d columns", n)
		}
	} else {
		return fmt.Errorf("tojson: an indentation of type %s", kind(v))
	}
	if len(w.indent) > 64 {
		return fmt.Errorf("tojson: an indentation of %d columns", len(w.indent))
	}
	return nil
}

// pay pays for what was written since it was called last.
func (w *jsonWriter) pay() error {
	n := w.b.Len() - w.paid
	w.paid = w.b.Len()
	return w.r.spendBytes(8 + n)
}

func (w *jsonWriter) write(v any) error {
	if err := w.pay(); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		w.b.WriteString("null")
	case bool:
		if v {
			w.b.WriteString("true")
		} else {
			w.b.WriteString("false")
		}
	case int64, Int:
		fmt.Fprint(&w.b, v)
	case float64:
		w.b.WriteString(jsonFloat(v))
	case string:
		w.quote(v)
	case markup:
		w.quote(string(v))
	case *List:
		if v.form <= isTuple {
			return w.list(v)
		}
		return fmt.Errorf("object of type %s is not JSON serializable", kind(v))
	case *Dict:
		return w.dict(v)
	default:
		return fmt.Errorf("object of type %s is not JSON serializable", kind(v))
	}
	return nil
}

func jsonFloat(f float64) string {
	switch s := float(f); s {
	case "nan":
		return "NaN"
	case "inf":
		return "Infinity"
	case "-inf":
		return "-Infinity"
	default:
		return s
	}
}

func (w *jsonWriter) list(l *List) error {
	return w.nest("[]", len(l.items), func(i int) error { return w.write(l.items[i]) })
}

func (w *jsonWriter) dict(d *Dict) error {
	order := make([]int, len(d.keys))
	for i := range order {
		order[i] = i
	}
	if w.sorted {
		var failed error
		slices.SortStableFunc(order, func(i, j int) int { return w.r.order(d.keys[i], d.keys[j], &failed) })
		if failed != nil {
			return failed
		}
	}
	return w.nest("{}", len(order), func(i int) error {
		key, err := jsonKey(d.keys[order[i]])
		if err != nil {
			return err
		}
		w.quote(key)
		w.b.WriteString(w.key)
		return w.write(d.values[order[i]])
	})
}

// jsonKey is what json.dumps makes of a key.
func jsonKey(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case markup:
		return string(v), nil
	case nil:
		return "null", nil
	case bool:
		return fmt.Sprint(v), nil
	case int64, Int:
		return fmt.Sprint(v), nil
	case float64:
		return jsonFloat(v), nil
	}
	return "", fmt.Errorf("keys must be str, int, float, bool or None, not %s", kind(v))
}

// nest writes n entries in brackets.
func (w *jsonWriter) nest(brackets string, n int, entry func(i int) error) error {
	if w.deep++; w.deep > maxDepth {
		return fmt.Errorf("a value is nested deeper than %d", maxDepth)
	}
	w.b.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			w.b.WriteString(w.item)
		}
		w.newline(w.deep)
		if err := entry(i); err != nil {
			return err
		}
	}
	w.deep--
	if n > 0 {
		w.newline(w.deep)
	}
	w.b.WriteByte(brackets[1])
	return nil
}

func (w *jsonWriter) newline(depth int) {
	if w.lines {
		w.b.WriteByte('\n')
		for range depth {
			w.b.WriteString(w.indent)
		}
	}
}

func (w *jsonWriter) quote(s string) {
	w.b.WriteByte('"')
	for i, c := range s {
		switch at := strings.IndexRune("\"\\\n\r\t\b\f", c); {
		case at >= 0:
			w.b.WriteByte('\\')
			w.b.WriteByte(`"\nrtbf`[at])
		case c < 0x20 || w.ascii && c > 0x7e && c < 0x10000:
			fmt.Fprintf(&w.b, `\u%04x`, c)
		case w.ascii && c >= 0x10000:
			fmt.Fprintf(&w.b, `\u%04x\u%04x`, 0xd800+(c-0x10000)>>10, 0xdc00+(c-0x10000)&0x3ff)
		case c == utf8.RuneError:
			w.b.WriteString(s[i : i+max(1, size(s[i:]))])
		default:
			w.b.WriteRune(c)
		}
	}
	w.b.WriteByte('"')
}

func size(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}
