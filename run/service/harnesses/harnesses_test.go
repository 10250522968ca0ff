package harnesses

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write the table of docs/harnesses.md anew")

// row is what became of one harness.
type row struct {
	name, version string
	cells         []cell
}

func TestHarnesses(t *testing.T) {
	dir := os.Getenv("MOLT_HARNESSES")
	if dir == "" {
		t.Skip("MOLT_HARNESSES names no folder with harnesses; scripts/harnesses/install.sh fills one")
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var rows []row
	for _, k := range kits {
		t.Run(k.preset, func(t *testing.T) {
			rows = append(rows, row{k.preset, version(t, dir, k), try(t, k)})
		})
	}
	if table := format(rows); *rewrite {
		publish(t, table)
	} else {
		t.Log("\n" + table)
	}
}

// version is what the installer says it installed.
func version(t *testing.T, dir string, k *kit) string {
	name, _, _ := strings.Cut(k.preset, "-")
	raw, err := os.ReadFile(filepath.Join(dir, name, ".done"))
	if err != nil {
		t.Fatal(err)
	}
	spec := strings.TrimSpace(string(raw))
	return spec[strings.LastIndexAny(spec, "@=")+1:]
}

var columns = []string{"three-turn tool loop", "parallel calls", "side errands", "talks to nobody else", "sub-agents", "compaction", "retries", "broken streams", "at a terminal"}

// try fills a row.
func try(t *testing.T, k *kit) []cell {
	cells := make([]cell, len(columns))
	t.Run("loop", func(t *testing.T) { copy(cells, report(t, loop(t, k)...)) })
	for i, c := range []struct {
		name string
		run  func(*testing.T, *kit) cell
	}{{"helpers", helpers}, {"compaction", compaction}, {"retries", retries}, {"broken", broken}, {"person", person}} {
		t.Run(c.name, func(t *testing.T) { cells[4+i] = report(t, c.run(t, k))[0] })
	}
	return cells
}

func report(t *testing.T, cells ...cell) []cell {
	for _, c := range cells {
		if c.verdict == "fails" {
			t.Error(c.note)
		}
	}
	return cells
}

// format is the table, and behind it every sentence that belongs to a field.
func format(rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Run on %s, %s/%s, %d CPUs.\n\n", time.Now().UTC().Format("2 January 2006"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Fprintf(&b, "| harness | %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	var notes []string
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s %s |", r.name, r.version)
		for _, c := range r.cells {
			b.WriteString(" " + c.verdict)
			if c.note != "" {
				if !slices.Contains(notes, c.note) {
					notes = append(notes, c.note)
				}
				fmt.Fprintf(&b, " (%d)", slices.Index(notes, c.note)+1)
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
	for i, n := range notes {
		fmt.Fprintf(&b, "\n%d. %s.", i+1, n)
	}
	return b.String() + "\n"
}

// publish puts the table between its marks.
func publish(t *testing.T, table string) {
	const path, begin, end = "../../../docs/harnesses.md", "<!-- table -->\n", "<!-- end of table -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := bytes.Cut(text, []byte(begin))
	_, tail, closed := bytes.Cut(rest, []byte(end))
	if !found || !closed {
		t.Fatalf("%s has no marks for the table", path)
	}
	if err := os.WriteFile(path, slices.Concat(head, []byte(begin+table+end), tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
