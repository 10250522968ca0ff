// The report: a page, a style sheet, a script and the run's data in one file. Rollouts are hostile text, so there are
// three walls: the data is inert JSON in which no tag can be spelled; the script builds the page from text nodes only
// (Trusted Types forbid anything else); and the policy in the head allows exactly this script and this style sheet, by
// their hashes, and not a single request.

package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"

	"molt/metrics"
)

// Options say what a report may hold. The zero value is a report of at most 15 MB.
type Options struct {
	MaxBytes int64 // of the file; default 15e6. Rollouts beyond it are left out, and counted
}

//go:embed assets
var assets embed.FS

// scripts are joined into one, in this order.
var scripts = []string{"base.js", "chart.js", "overview.js", "rollouts.js", "tokens.js", "rollout.js", "group.js", "main.js"}

// Report writes a run as one HTML file. records are folded (metrics.Read gives them so); rollouts are those that
// metrics.ReadRollouts gives.
func Report(w io.Writer, records []metrics.Record, rollouts []*metrics.RolloutKept, o Options) error {
	if o.MaxBytes == 0 {
		o.MaxBytes = 15e6
	}
	style, script := asset("report.css"), script()
	d := newData(records)
	fixed, err := metrics.Encode(d)
	if err != nil {
		return fmt.Errorf("web: encode the run: %w", err)
	}
	room := o.MaxBytes - int64(len(style)+len(script)+2*len(fixed)) - 32<<10
	if err := d.addRollouts(rollouts, room); err != nil {
		return err
	}
	text, err := metrics.Encode(d)
	if err != nil {
		return fmt.Errorf("web: encode the run: %w", err)
	}
	parts := map[string]string{
		"POLICY":  policy(style, script),
		"TITLE":   html.EscapeString(metrics.Clean(d.Run.Name)) + " · Molt",
		"STYLE":   style,
		"SUMMARY": html.EscapeString(metrics.Summary(records, 100)),
		"DATA":    string(inert(text)),
		"SCRIPT":  script,
	}
	if err := fill(w, asset("report.html"), parts); err != nil {
		return fmt.Errorf("web: write the report: %w", err)
	}
	return nil
}

// fill writes the template with its {{NAME}} marks replaced. Parts are written as they are: a mark inside one stays.
func fill(w io.Writer, template string, parts map[string]string) error {
	for template != "" {
		before, rest, found := strings.Cut(template, "{{")
		if _, err := io.WriteString(w, before); err != nil || !found {
			return err
		}
		name, after, _ := strings.Cut(rest, "}}")
		if _, err := io.WriteString(w, parts[name]); err != nil {
			return err
		}
		template = after
	}
	return nil
}

// policy allows the one style sheet and the one script, and forbids everything else: requests, forms, other frames, and
// turning text into markup.
func policy(style, script string) string {
	return "default-src 'none'; script-src '" + hash(script) + "'; style-src '" + hash(style) +
		"'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// inert spells JSON so that it cannot end its script element, open a comment, or break a line of JavaScript. These
// characters occur only inside JSON strings, where the escapes mean the same.
func inert(json []byte) []byte {
	for _, e := range []struct{ char, escape string }{
		{"<", `\u003c`}, {">", `\u003e`}, {"&", `\u0026`}, {"\u2028", `\u2028`}, {"\u2029", `\u2029`},
	} {
		json = bytes.ReplaceAll(json, []byte(e.char), []byte(e.escape))
	}
	return json
}

// script is the whole program. One scope for all files keeps the page's global names free.
func script() string {
	var s strings.Builder
	s.WriteString("'use strict';\n(() => {\n")
	for _, name := range scripts {
		s.WriteString(asset(name))
	}
	s.WriteString("})();\n")
	return s.String()
}

// asset reads an embedded file; it is there, or the program would not have been built.
func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err)
	}
	return string(text)
}
