// What a terminal can show, from what it says about itself.

package metrics

import (
	"os"
	"strings"

	"golang.org/x/term"
)

// Style says how to draw. The zero value is plain ASCII lines of 80 columns, without a single escape byte.
type Style struct {
	Live    bool                       // redraw a block in place; else one line for each step
	Color   bool                       // use colours; meaning never rests on them
	Unicode bool                       // bars and sparklines beyond ASCII
	Size    func() (width, height int) // cells; nil means 80×24
}

// DetectStyle looks at the file and the environment. A file that is not a terminal, or TERM=dumb, gets plain lines.
// NO_COLOR switches colours off; CLICOLOR_FORCE switches them on where they would be off for want of a terminal.
func DetectStyle(f *os.File, getenv func(string) string) Style {
	fd := int(f.Fd())
	tty := term.IsTerminal(fd)
	s := style(tty, getenv)
	if tty {
		s.Size = func() (int, int) {
			width, height, err := term.GetSize(fd)
			if err != nil || width < 1 || height < 1 {
				return 80, 24
			}
			return width, height
		}
	}
	return s
}

func style(tty bool, getenv func(string) string) Style {
	live := tty && getenv("TERM") != "dumb"
	force := getenv("CLICOLOR_FORCE")
	return Style{
		Live:    live,
		Color:   getenv("NO_COLOR") == "" && (live || force != "" && force != "0"),
		Unicode: speaksUTF8(getenv),
	}
}

// speaksUTF8 follows the order in which the C library reads the locale. Where nothing is set, as in containers, the
// terminal is outside and speaks UTF-8.
func speaksUTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

func (s Style) size() (width, height int) {
	if s.Size == nil {
		return 80, 24
	}
	return s.Size()
}

// Colours, named for what they mean.
const (
	colorGood  = "32"
	colorBad   = "31"
	colorAlert = "33"
	colorQuiet = "2"
	colorHead  = "1"
	colorBar   = "36"
)

// paint wraps text in a colour; without colours it is the text.
func (s Style) paint(color, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}
