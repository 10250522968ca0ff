// Dotted flags are settings of the run (--rollout.batch_size 16); plain flags are options of the command (--dry-run).
// Settings are taken out before kong sees the command line, because their names come from run's table.

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"molt/internal/spell"
	"molt/run/problem"
	"molt/run/recipe"
)

// assignment is one dotted flag. A switch may come without a value.
type assignment struct {
	name     string
	value    string
	hasValue bool
}

// splitSettings separates the dotted flags from the rest. A dotted flag without `=value` takes the next argument; a switch only
// true or false, and --no-NAME turns it off.
func splitSettings(args []string) (plain []string, settings []assignment, err error) {
	switches := boolSettings()
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(plain, args[i:]...), settings, nil
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !strings.HasPrefix(arg, "--") || !strings.Contains(name, ".") {
			plain = append(plain, arg)
			continue
		}
		s := assignment{name: strings.ReplaceAll(name, "-", "_"), value: value, hasValue: hasValue}
		off, negated := strings.CutPrefix(s.name, "no_")
		switch {
		case hasValue:
		case negated && slices.Contains(switches, off):
			s = assignment{off, "false", true}
		case slices.Contains(switches, s.name):
			if i+1 < len(args) && (args[i+1] == "true" || args[i+1] == "false") {
				i++
				s.value, s.hasValue = args[i], true
			}
		case i+1 < len(args) && !isFlag(args[i+1]):
			i++
			s.value, s.hasValue = args[i], true
			for takesPair(s.name) && i+1 < len(args) && isNumber(args[i+1]) { // the original's `--x.clip .2 .27`
				i++
				s.value += "," + args[i]
			}
		}
		settings = append(settings, s)
	}
	return plain, settings, nil
}

func isFlag(arg string) bool { return strings.HasPrefix(arg, "-") && !isNumber(arg) }

func isNumber(arg string) bool {
	var f float64
	n, err := fmt.Sscanf(arg+"|", "%g|", &f)
	return n == 1 && err == nil
}

// boolSettings names the switches of all configurations.
func boolSettings() []string {
	var names []string
	for _, s := range allSettings() {
		if s.IsBool() {
			names = append(names, append(s.Aliases, s.Name)...)
		}
	}
	return names
}

func takesPair(name string) bool {
	return slices.ContainsFunc(allSettings(), func(s *recipe.Setting) bool {
		return s.Len == 2 && (s.Name == name || slices.Contains(s.Aliases, name))
	})
}

func allSettings() []*recipe.Setting {
	rl, sft := recipe.Defaults(), recipe.SFTDefaults()
	return append(recipe.Settings(&rl), recipe.Settings(&sft)...)
}

// resolve applies recipe files, then the command line's dotted flags, to the settings. All problems are reported at once.
func (a *app) resolve(settings []*recipe.Setting, recipes []string) error {
	var problems []error
	for _, path := range recipes {
		problems = append(problems, recipe.Read(path, settings))
	}
	for _, s := range a.settings {
		problems = append(problems, assign(settings, s))
	}
	return errors.Join(problems...)
}

func assign(settings []*recipe.Setting, a assignment) error {
	s := recipe.Find(settings, a.name)
	if s == nil {
		what := fmt.Sprintf("unknown flag --%s", a.name)
		if why := recipe.NotHere(a.name); why != "" {
			return &problem.Problem{Code: problem.Usage, What: what, Why: why, Fix: "leave it out"}
		}
		if near := spell.Nearest(a.name, recipe.Names(settings)); near != "" {
			what += fmt.Sprintf("; did you mean --%s?", near)
		}
		return &problem.Problem{Code: problem.Usage, What: what, Fix: "`molt help settings` lists every setting"}
	}
	if !a.hasValue {
		if !s.IsBool() {
			return &problem.Problem{Code: problem.Setting, What: "--" + a.name + " wants a value", Fix: s.Help}
		}
		a.value = "true"
	}
	if err := s.Set(a.value, "flag"); err != nil {
		return &problem.Problem{Code: problem.Setting, What: "--" + a.name + " " + err.Error(), Fix: s.Help}
	}
	return nil
}
