// The command line: words, and placeholders in them. No shell is involved, so that nothing in a prompt can become a command;
// whoever wants one writes sh -c '…'.

package command

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"molt/agent"
)

// Words splits a line as a shell does: blanks part words, '…' keeps everything, "…" keeps everything but \" and \\, and
// a backslash keeps what follows it.
func Words(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	open, quote := false, rune(0)
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(runes) && (quote == 0 || strings.ContainsRune(`"\`, runes[i+1])):
			i++
			word.WriteRune(runes[i])
			open = true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case strings.ContainsRune(" \t\r\n", c):
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
		default:
			word.WriteRune(c)
			open = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}

// placeholders names every placeholder. path makes the paths of those that are files; nil is for looking names up.
func placeholders(path func(string) string) map[string]string {
	if path == nil {
		path = func(string) string { return "" }
	}
	return map[string]string{
		"prompt": "", "prompt_file": path("task/prompt.txt"), "task_file": path("task/task.json"), "result_file": path("task/result.json"),
		"workspace": path("work"), "home": path("home"),
		"base_url": "", "session_url": "", "api_key": "", "model": "", "session": "", "max_length": "",
	}
}

// fill replaces {name} by its value. Other braces stay; a name that looks like a placeholder and is none is an error.
func fill(text string, values map[string]string) (string, error) {
	var filled strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		filled.WriteString(before)
		if !found {
			return filled.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		value, known := values[name]
		switch {
		case closed && known:
			filled.WriteString(value)
			text = after
		case closed && isName(name):
			return "", fmt.Errorf("{%s} is no placeholder; there are %s", name, strings.Join(slices.Sorted(maps.Keys(values)), ", "))
		default:
			filled.WriteString("{")
			text = rest
		}
	}
}

// fillAll fills each word.
func fillAll(words []string, values map[string]string) ([]string, error) {
	filled := make([]string, len(words))
	for i, w := range words {
		var err error
		if filled[i], err = fill(w, values); err != nil {
			return nil, err
		}
	}
	return filled, nil
}

func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// shown is a task as the program reads it; a grader also reads the label.
func shown(t agent.Task) map[string]any {
	return map[string]any{"id": t.ID, "source": t.Source, "messages": agent.Wire(t.Messages), "tools": agent.WireTools(t.Tools)}
}

func withLabel(t agent.Task) map[string]any {
	told := shown(t)
	told["label"] = t.Label
	return told
}
