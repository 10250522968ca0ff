// A Setting is one leaf of a configuration struct. Flags, recipe files, --dry-run, config.yaml and the documentation all
// go through this table, so a name is spelled in one place: the struct tag in config.go.

package recipe

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"molt/internal/spell"
)

// Setting is one named value of a configuration.
type Setting struct {
	Name    string   // dotted: rollout.batch_size
	Aliases []string // other accepted names
	Help    string
	Unit    string
	Range   string   // ">=0", ">0", "[0,1]", "(0,1]", "[0,1)"; of each item of a list
	Enum    []string // the allowed words; nil allows any
	Len     int      // exact length of a list; 0 allows any
	Free    bool     // changes no result: a run may be resumed with another value
	Source  string   // where the value came from: default, a file with its line, or a flag

	value reflect.Value
}

// Settings lists the settings of the configuration that cfg points to, in order of declaration.
func Settings(cfg any) []*Setting {
	list := settingsOf(reflect.ValueOf(cfg).Elem(), "")
	if c, ok := cfg.(*Config); ok {
		list = withAgents(list, &c.Agent)
	}
	return list
}

func settingsOf(v reflect.Value, prefix string) []*Setting {
	var list []*Setting
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if field.Anonymous {
			list = append(list, settingsOf(v.Field(i), prefix)...)
			continue
		}
		name := prefix + field.Tag.Get("yaml")
		if field.Type.Kind() == reflect.Struct {
			list = append(list, settingsOf(v.Field(i), name+".")...)
			continue
		}
		s := &Setting{Name: name, Help: field.Tag.Get("help"), Unit: field.Tag.Get("unit"), Range: field.Tag.Get("range"),
			Source: "default", value: v.Field(i)}
		s.Aliases = splitList(field.Tag.Get("alias"))
		s.Enum = splitList(field.Tag.Get("enum"))
		s.Len, _ = strconv.Atoi(field.Tag.Get("len"))
		s.Free = field.Tag.Get("free") != ""
		list = append(list, s)
	}
	return list
}

// Find returns the setting with the name or alias, with '-' and '_' taken as equal; nil if there is none.
func Find(settings []*Setting, name string) *Setting {
	name = strings.ReplaceAll(name, "-", "_")
	for _, s := range settings {
		if s.Name == name || slices.Contains(s.Aliases, name) {
			return s
		}
	}
	return nil
}

// IsBool reports whether the setting is a switch, which needs no value on the command line.
func (s *Setting) IsBool() bool { return s.value.Kind() == reflect.Bool }

// Set parses text into the setting, remembers where it came from, and reports what is wrong in words that follow the
// setting's name.
func (s *Setting) Set(text, source string) error {
	v := reflect.New(s.value.Type()).Elem()
	if err := parseInto(v, text); err != nil {
		return err
	}
	if err := s.check(v); err != nil {
		return err
	}
	s.value.Set(v)
	s.Source = source
	return nil
}

func parseInto(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("wants true or false, not %q", text)
		}
		v.SetBool(b)
	case reflect.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("wants a whole number, not %q", text)
		}
		v.SetInt(n)
	case reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("wants a whole number >= 0, not %q", text)
		}
		v.SetUint(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("wants a finite number, not %q", text)
		}
		v.SetFloat(f)
	case reflect.Slice:
		return parseList(v, splitList(text))
	default:
		panic(fmt.Sprintf("recipe: setting of unknown kind %v", v.Type()))
	}
	return nil
}

func parseList(v reflect.Value, items []string) error {
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		if err := parseInto(list.Index(i), item); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

// splitList splits at commas and trims spaces; empty text is an empty list.
func splitList(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// maxInt bounds every whole number, so that products of two of them fit.
const maxInt = 1_000_000_000

// check compares a parsed value with the setting's enum, length and range.
func (s *Setting) check(v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, v.String()) {
			return fmt.Errorf("wants one of %s, not %q%s", strings.Join(s.Enum, ", "), v.String(), spell.DidYouMean(v.String(), s.Enum))
		}
	case reflect.Slice:
		if s.Len > 0 && v.Len() != s.Len {
			return fmt.Errorf("wants %d values separated by commas, not %d", s.Len, v.Len())
		}
		for i := range v.Len() {
			if err := s.check(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Int:
		if v.Int() > maxInt {
			return fmt.Errorf("wants at most %d, not %d", maxInt, v.Int())
		}
		return inRange(float64(v.Int()), s.Range)
	case reflect.Float64:
		return inRange(v.Float(), s.Range)
	}
	return nil
}

// inRange refuses what a range does not hold.
func inRange(x float64, r string) error {
	if !within(x, r) {
		return fmt.Errorf("wants %s, not %v", r, x)
	}
	return nil
}

// within understands ">=a", ">a" and intervals with round (open) and square (closed) ends; "0 or " may stand in front.
func within(x float64, r string) bool {
	if rest, ok := strings.CutPrefix(r, "0 or "); ok {
		return x == 0 || within(x, rest)
	}
	switch {
	case r == "":
		return true
	case strings.HasPrefix(r, ">="):
		return x >= number(r[2:])
	case strings.HasPrefix(r, ">"):
		return x > number(r[1:])
	}
	low, high, _ := strings.Cut(r[1:len(r)-1], ",")
	return x >= number(low) && x <= number(high) && (r[0] == '[' || x > number(low)) && (r[len(r)-1] == ']' || x < number(high))
}

// number parses a bound of a range tag; a bad tag is the programmer's mistake.
func number(text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("recipe: bad range tag " + text)
	}
	return f
}

// Text writes the value as Set would read it.
func (s *Setting) Text() string {
	if s.value.Kind() != reflect.Slice {
		return fmt.Sprint(s.value.Interface())
	}
	items := make([]string, s.value.Len())
	for i := range items {
		items[i] = fmt.Sprint(s.value.Index(i).Interface())
	}
	return strings.Join(items, ",")
}

// Names lists every accepted name, for suggestions and completion.
func Names(settings []*Setting) []string {
	var names []string
	for _, s := range settings {
		names = append(names, s.Name)
		names = append(names, s.Aliases...)
	}
	return names
}
