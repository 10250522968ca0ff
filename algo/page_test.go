package algo

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// docs/algorithms.md is prose with blocks that these tables fill in: go test ./algo -run TestPage -rewrite

var rewrite = flag.Bool("rewrite", false, "fill in the blocks of docs/algorithms.md")

const page = "../docs/algorithms.md"

var blocks = map[string]func() string{
	"estimators":     func() string { return options(Estimators) },
	"losses":         func() string { return options(Losses) },
	"proximals":      func() string { return options(Proximals) },
	"aggregations":   func() string { return options(Aggregations) },
	"levels":         func() string { return options(Levels) },
	"modes":          func() string { return options(Modes) },
	"kl":             func() string { return options(KLEstimators) },
	"lengths":        func() string { return options(LengthShapes) },
	"normalisations": func() string { return options(Normalisations) },
	"settings":       settings,
	"rules":          rules,
}

var block = regexp.MustCompile(`(?s)<!-- table: (\w+) -->\n.*?<!-- end -->`)

func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	want := block.ReplaceAllStringFunc(string(text), func(old string) string {
		name := block.FindStringSubmatch(old)[1]
		seen[name] = true
		if blocks[name] == nil {
			t.Errorf("%s: no table is called %s", page, name)
			return old
		}
		return fmt.Sprintf("<!-- table: %s -->\n%s<!-- end -->", name, blocks[name]())
	})
	for name := range blocks {
		if !seen[name] {
			t.Errorf("%s does not show the table %s", page, name)
		}
	}
	if want == string(text) {
		return
	}
	if !*rewrite {
		t.Fatalf("%s is not what the tables say: go test ./algo -run TestPage -rewrite", page)
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every function and test that a table or the page names is there.
func TestPageNamesWhatThereIs(t *testing.T) {
	code, tests := declared(t)
	check := func(o Option) {
		if !code[o.Code] {
			t.Errorf("%s: there is no function %q", o.Name, o.Code)
		}
		if !tests[o.Test] {
			t.Errorf("%s: there is no test %q", o.Name, o.Test)
		}
		if o.Paper != "" && !regexp.MustCompile(`^\d{4}\.\d{5}$`).MatchString(o.Paper) {
			t.Errorf("%s: %q is no arXiv id", o.Name, o.Paper)
		}
	}
	walk(check, Estimators)
	walk(check, Losses)
	walk(check, Proximals)
	walk(check, Aggregations)
	walk(check, Levels)
	walk(check, Modes)
	walk(check, KLEstimators)
	walk(check, LengthShapes)
	walk(check, Normalisations)
	walk(check, Settings)

	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile("`(\\w+)\\(\\)`").FindAllStringSubmatch(string(text), -1) {
		if !code[name[1]] {
			t.Errorf("%s names %s(), which is not there", page, name[1])
		}
	}
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1) {
		if !tests[name[1]] {
			t.Errorf("%s names %s, which is not there", page, name[1])
		}
	}
}

func walk[T interface{ option() Option }](check func(Option), rows []T) {
	for _, r := range rows {
		check(r.option())
	}
}

// declared lists the functions and methods of the room, and its tests.
func declared(t *testing.T) (code, tests map[string]bool) {
	t.Helper()
	code, tests = map[string]bool{}, map[string]bool{}
	files, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasSuffix(name, "_test.go") {
				tests[fn.Name.Name] = true
			} else if ok {
				code[fn.Name.Name] = true
			}
		}
	}
	return code, tests
}

// Config and Settings have the same fields, and every rule is about one of them.
func TestSettingsAreTheFieldsOfConfig(t *testing.T) {
	fields := map[string]bool{}
	var list func(prefix string, of reflect.Type)
	list = func(prefix string, of reflect.Type) {
		for f := range of.Fields() {
			if f.Type.Kind() == reflect.Struct {
				list(prefix+f.Name+".", f.Type)
			} else {
				fields[prefix+f.Name] = true
			}
		}
	}
	list("", reflect.TypeFor[Config]())
	names := map[string]bool{"rollout.temperature": true} // a fact, not a setting
	for _, s := range Settings {
		if !fields[s.Field] {
			t.Errorf("%s: Config has no field %s, or another setting has it too", s.Name, s.Field)
		}
		delete(fields, s.Field)
		equal(t, s.Name+" is used once", names[s.Name], false)
		names[s.Name] = true
	}
	for f := range fields {
		t.Errorf("Config.%s is no setting", f)
	}
	for _, r := range Rules {
		if !names[r.Field] {
			t.Errorf("a rule is about %s, which is no setting", r.Field)
		}
	}
}

func options[T interface{ option() Option }](rows []T) string {
	out := "| name | what it does | formula | needs | paper | read | test |\n|---|---|---|---|---|---|---|\n"
	for _, r := range rows {
		o := r.option()
		name := "`" + o.Name + "`"
		for _, alias := range o.Alias {
			if alias != "" {
				name += " (`" + alias + "`)"
			} else {
				name += " (default)"
			}
		}
		out += line(name, o.Does, code(o.Formula), needs(r), paper(o.Paper), code(o.Code), code(o.Test))
	}
	return out
}

// needs says in words what a row asks for, field by field.
func needs(row any) string {
	words := map[string]string{
		"ReadsKL": "a reference, for KL in the reward", "ReadsValue": "a critic", "IgnoresReward": "a teacher; no reward",
		"Discounts": "", "Whitens": "", "ScaleFree": "", "ReadsOld": "`LogpOld`", "Clips": "`loss.clip_low`, `loss.clip_high`",
		"DualClips": "`loss.dual_clip` if wanted", "PerSegment": "whole segments in a pass", "HoldsRatio": "", "ReadsK": "`advantage.k`",
		"Coupled": "the correction off", "PerRollout": "`RolloutTokens`", "Constant": "`loss.max_tokens`", "Off": "",
		"Pulls": "", "Grades": "`reward.length.solved`",
	}
	var out []string
	for f, v := range reflect.ValueOf(row).Fields() {
		switch v.Kind() {
		case reflect.Int:
			if v.Int() > 1 {
				out = append(out, fmt.Sprintf("%d rollouts per prompt", v.Int()))
			}
		case reflect.Bool:
			word, known := words[f.Name]
			if !known {
				word = "?" + f.Name
			}
			if v.Bool() && word != "" {
				out = append(out, word)
			}
		}
	}
	return strings.Join(out, "; ")
}

func settings() string {
	out := "| setting | what it does | formula | default of the room | paper | read | test |\n|---|---|---|---|---|---|---|\n"
	for _, s := range Settings {
		value := reflect.ValueOf(Default())
		for _, name := range strings.Split(s.Field, ".") {
			value = value.FieldByName(name)
		}
		out += line(code(s.Name), s.Does, code(s.Formula), fmt.Sprint(value), paper(s.Paper), code(s.Code), code(s.Test))
	}
	return out
}

func rules() string {
	out := "| setting | refused because | instead |\n|---|---|---|\n"
	for _, r := range Rules {
		out += line(code(r.Field), r.Why, r.Fix)
	}
	return out
}

func line(cells ...string) string {
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func paper(id string) string {
	if id == "" {
		return ""
	}
	return "[" + id + "](https://arxiv.org/abs/" + id + ")"
}
