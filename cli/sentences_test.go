package cli

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	spokenOf  = regexp.MustCompile(`(?:^|[ (,"'])((?:[a-z][a-z0-9_]*\.)+[a-z][a-z0-9_]*)`)
	parameter = regexp.MustCompile(`^model\.(layers|embed_tokens|norm)\b`)
)

// TestSentencesNameSettings: what the rooms that read settings say to people names only settings that are there. Flags of the
// original that are refused by name are not.
func TestSentencesNameSettings(t *testing.T) {
	settings, seen := allSettings(), 0
	for _, pattern := range []string{"../run/*.go", "../run/*/*.go", "*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "nothere.go" {
				continue
			}
			for _, text := range literals(t, name) {
				for _, m := range spokenOf.FindAllStringSubmatch(text, -1) {
					group, _, _ := strings.Cut(m[1], ".")
					if !isSetting(settings, group) || isFile.MatchString(m[1]) || parameter.MatchString(m[1]) {
						continue
					}
					if seen++; !isSetting(settings, m[1]) {
						t.Errorf("%s names %s, which is no setting", name, m[1])
					}
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("found %d names of settings; the pattern is broken", seen)
	}
}

// literals are the texts of a Go file.
func literals(t *testing.T, name string) (texts []string) {
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile(name, -1, len(source)), source, nil, 0)
	for {
		_, kind, text := s.Scan()
		switch kind {
		case token.EOF:
			return texts
		case token.STRING:
			texts = append(texts, text)
		}
	}
}
