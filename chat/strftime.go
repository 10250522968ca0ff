// Dates as Python's strftime writes them in the C locale.

package chat

import (
	"fmt"
	"strings"
	"time"
)

// layouts are the directives that Go writes as Python does.
var layouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'h': "Jan", 'd': "02", 'e': "_2", 'm': "01", 'y': "06", 'Y': "2006",
	'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'j': "002", 'F': "2006-01-02", 'T': "15:04:05",
	'D': "01/02/06", 'R': "15:04", 'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05",
}

// strftime fails on a directive that it does not know.
func strftime(t time.Time, format string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		bare := format[i] == '-' && i+1 < len(format) // %-d: without padding
		if bare {
			i++
		}
		text := ""
		switch layout, ok := layouts[format[i]]; {
		case format[i] == '%':
			text = "%"
		case format[i] == 'f':
			text = fmt.Sprintf("%06d", t.Nanosecond()/1000)
		case format[i] == 'Z' || format[i] == 'z': // a date without a time zone has none
		case !ok:
			return "", fmt.Errorf("strftime: the directive %%%c is not known", format[i])
		default:
			text = t.Format(layout)
		}
		if bare {
			text = unpadded(text)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func unpadded(text string) string {
	if short := strings.TrimLeft(text, "0 "); short != "" {
		return short
	}
	return "0"
}
