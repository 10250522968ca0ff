package cli

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"molt/run/recipe"
)

var (
	continued = regexp.MustCompile(`\\\n\s*`)
	typed     = regexp.MustCompile("(?m)(?:`molt ([a-z][^`\"\n]*)[`\"]|^\\s*(?:\\$ |\\./|bin/)*molt ([a-z][^`\"\n]*))")
	quoted    = regexp.MustCompile("`((?:[a-z][a-z0-9_]+\\.)+[a-z0-9_]*[a-z0-9])`")
	dotted    = regexp.MustCompile(`--((?:[a-z][a-z0-9_]+\.)+[a-z0-9_]*[a-z0-9])`)
	isFile    = regexp.MustCompile(`\.(go|md|json|jsonl|py|txt|log|safetensors|yaml|mjs|js)$`)
	plainFlag = regexp.MustCompile(`(?:^|[ \[])--([a-z][a-z-]*)(?:[ =\]]|$)`)
)

// elsewhere are settings of environments that only programs of examples/ have, and names by which docs/algorithms.md and the
// mathematics call a setting: run/mathematics.go maps them.
var elsewhere = map[string]bool{"agent.higher.tries": true, "agent.gsm8k.format": true, "reward.low": true, "reward.high": true,
	"reward.length.correct_short": true, "reward.length.correct_long": true, "reward.length.wrong_short": true, "reward.length.wrong_long": true}

// wrong says what a text tells people to type that this program does not know.
func wrong(app *kong.Application, settings []*recipe.Setting, text string) []string {
	var problems []string
	text = continued.ReplaceAllString(text, " ")
	for _, m := range typed.FindAllStringSubmatch(text, -1) {
		problems = append(problems, wrongCommand(app, m[1]+m[2])...)
	}
	for _, m := range dotted.FindAllStringSubmatch(text, -1) {
		if !isSetting(settings, strings.TrimPrefix(m[1], "no_")) {
			problems = append(problems, "--"+m[1])
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		group, _, _ := strings.Cut(m[1], ".")
		if isSetting(settings, group) && !isSetting(settings, m[1]) && !isFile.MatchString(m[1]) {
			problems = append(problems, m[1])
		}
	}
	return problems
}

// isSetting reports a setting, or a group of some.
func isSetting(settings []*recipe.Setting, name string) bool {
	return elsewhere[name] || recipe.Find(settings, name) != nil ||
		slices.ContainsFunc(settings, func(s *recipe.Setting) bool { return strings.HasPrefix(s.Name, name+".") })
}

// wrongCommand judges what follows `molt`: a command, its subcommand, its flags.
func wrongCommand(app *kong.Application, line string) []string {
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, " -- ")
	node := app.Node
	for _, word := range strings.Fields(line) {
		at := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word })
		if at < 0 {
			break
		}
		node = node.Children[at]
	}
	if len(node.Children) > 0 && line != node.Name {
		return []string{"molt " + line}
	}
	var problems []string
	known := flagNames(node)
	for _, m := range plainFlag.FindAllStringSubmatch(line, -1) {
		if !slices.Contains(known, "--"+m[1]) {
			problems = append(problems, "molt "+line+": --"+m[1])
		}
	}
	return problems
}

func TestWhatAPageGetsWrong(t *testing.T) {
	app, settings := commandLine(t)
	for text, want := range map[string]string{
		"`molt show RUN`, and with `molt frobnicate` more":             "molt frobnicate",
		"```\nbin/molt model paint X\n```":                             "molt model paint X",
		"    molt rl recipe.yaml --dry-run \\\n      --such-is-life 3": "molt rl recipe.yaml --dry-run  --such-is-life 3: --such-is-life",
		"set `--actor.lora.rank 8` or --actor.lora.rang 9":             "--actor.lora.rang",
		"`train.mode`, `train.mood` and `model.json`":                  "train.mood",
		"settings `--agent.reward.*`, --no_critic.shared":              "",
		"what molt does; `molt hub verifiers -- x --anything`":         "",
	} {
		if got := strings.Join(wrong(app, settings, text), "; "); got != want {
			t.Errorf("%q: wrong is %q; want %q", text, got, want)
		}
	}
}

// TestPagesNameWhatIsThere: every command, flag and setting that a page, a script or a sentence of this program names exists.
func TestPagesNameWhatIsThere(t *testing.T) {
	app, settings := commandLine(t)
	seen := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		if err != nil || d.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin" || base == "runs" || base == "node_modules") {
				return fs.SkipDir
			}
			return err
		}
		if !slices.Contains([]string{".md", ".go", ".sh", ".yaml"}, path.Ext(name)) || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join("..", name))
		seen += len(typed.FindAll(text, -1))
		for _, p := range wrong(app, settings, string(text)) {
			t.Errorf("%s names what is not there: %s", name, p)
		}
		return err
	})
	if err != nil || seen < 100 {
		t.Errorf("read %d commands: %v", seen, err)
	}
}

func commandLine(t *testing.T) (*kong.Application, []*recipe.Setting) {
	parser, err := kong.New(&commands{}, kong.Name("molt"))
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model, allSettings()
}
