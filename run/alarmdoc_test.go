package run

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAlarmsAreDocumented compares docs/errors.md with the alarms that the code can raise.
func TestAlarmsAreDocumented(t *testing.T) {
	raised := map[string]bool{}
	raises := regexp.MustCompile(`(?:raise\(|Name:\s+)"([a-z]+(?:-[a-z]+)+)"`)
	for _, dir := range []string{".", "leg", "finetune", "../metrics"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") }) {
			for _, m := range raises.FindAllStringSubmatch(string(read(t, file)), -1) {
				raised[m[1]] = true
			}
		}
	}
	text, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		documented[m[1]] = true
	}
	for name := range raised {
		if !documented[name] {
			t.Errorf("%s is not in docs/errors.md", name)
		}
	}
	for name := range documented {
		if !raised[name] {
			t.Errorf("docs/errors.md explains %s, which nothing raises", name)
		}
	}
	if len(raised) < 14 {
		t.Errorf("found only %d alarms in the code", len(raised))
	}
}
