package web_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/v2"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"molt/metrics"
	"molt/metrics/testdata/demo"
	"molt/web"
)

type run struct {
	records  []metrics.Record
	rollouts []*metrics.RolloutKept
}

func makeRun(t testing.TB, o demo.Options) run {
	t.Helper()
	dir := t.TempDir()
	if err := demo.Write(dir, o); err != nil {
		t.Fatal(err)
	}
	records, err := metrics.Salvage(filepath.Join(dir, demo.Events))
	if err != nil {
		t.Fatal(err)
	}
	rollouts, err := metrics.ReadRollouts(filepath.Join(dir, demo.Rollouts), records)
	if err != nil {
		t.Fatal(err)
	}
	return run{records, rollouts}
}

func (r run) report(t testing.TB, o web.Options) string {
	t.Helper()
	var page bytes.Buffer
	if err := web.Report(&page, r.records, r.rollouts, o); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// between gives the text between two marks; there must be exactly one of each pair.
func between(t testing.TB, page, open, end string) string {
	t.Helper()
	if n := strings.Count(page, open); n != 1 {
		t.Fatalf("%q is there %d times", open, n)
	}
	_, rest, _ := strings.Cut(page, open)
	text, _, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%q does not follow %q", end, open)
	}
	return text
}

const dataMark = `<script type="application/json" id="data">`

type seen struct {
	Run struct {
		Name string `json:"name"`
	} `json:"run"`
	Axes map[string]struct {
		Seq     []int64   `json:"seq"`
		Step    []int64   `json:"step"`
		Tokens  []int64   `json:"tokens"`
		Seconds []float64 `json:"seconds"`
		Every   int       `json:"every"`
	} `json:"axes"`
	Series []struct {
		Name string     `json:"name"`
		Axis string     `json:"axis"`
		Y    []*float64 `json:"y"`
	} `json:"series"`
	Rollouts []metrics.RolloutKept `json:"rollouts"`
	Omitted  int                   `json:"omitted"`
	Alarms   []struct {
		Step  int64  `json:"step"`
		Phase string `json:"phase"`
	} `json:"alarms"`
	Legs []struct {
		Step int64 `json:"step"`
	} `json:"legs"`
	Outcome string `json:"outcome"`
}

func read(t testing.TB, page string) seen {
	t.Helper()
	var d seen
	if err := json.Unmarshal([]byte(between(t, page, dataMark, "</script>")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPolicyAllowsExactlyThisPage(t *testing.T) {
	page := makeRun(t, demo.Options{}).report(t, web.Options{})
	policy := between(t, page, `http-equiv="Content-Security-Policy" content="`, `"`)
	for tag, directive := range map[string]string{"<style>": "style-src", "<script>": "script-src"} {
		sum := sha256.Sum256([]byte(between(t, page, tag, "</"+tag[1:])))
		want := directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if !strings.Contains(policy, want+";") {
			t.Errorf("%s is not in %s", want, policy)
		}
	}
	for _, want := range []string{"default-src 'none'", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("%s is not in %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "http") {
		t.Errorf("the policy is too wide: %s", policy)
	}
}

func TestNothingIsFetchedOrParsed(t *testing.T) {
	page := makeRun(t, demo.Options{}).report(t, web.Options{})
	style, script := between(t, page, "<style>", "</style>"), between(t, page, "<script>", "</script>")
	for _, bad := range []string{"url(", "@import", "@font-face"} {
		if strings.Contains(style, bad) {
			t.Errorf("the style sheet has %s", bad)
		}
	}
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "fetch(", "XMLHttpRequest",
		"import(", "import ", "WebSocket", "sendBeacon", "DOMParser", "createContextualFragment", ".src", "srcdoc", "https:", "\r"} {
		if strings.Contains(script, bad) {
			t.Errorf("the script has %q", bad)
		}
	}
	if got := strings.ReplaceAll(script, "http://www.w3.org/2000/svg", ""); strings.Contains(got, "http:") {
		t.Error("the script names an address")
	}
	if n := strings.Count(script, "\n"); n > 900 {
		t.Errorf("the script has %d lines; 900 is enough", n)
	}
}

// TestCurvesEqualTheEvents compares every drawn number with the event it comes from.
func TestCurvesEqualTheEvents(t *testing.T) {
	r := makeRun(t, demo.Options{Seed: 4, Async: true, Crash: true})
	d := read(t, r.report(t, web.Options{}))
	bySeq := map[int64]metrics.Event{}
	for _, rec := range r.records {
		bySeq[rec.Seq] = rec.Event
	}
	series := map[string]metrics.Series{}
	points := 0
	for _, s := range metrics.AllSeries(r.records) {
		series[s.Name] = s
	}
	if len(d.Series) != len(series) {
		t.Errorf("%d curves of %d", len(d.Series), len(series))
	}
	for _, c := range d.Series {
		axis := d.Axes[c.Axis]
		for i, y := range c.Y {
			e := bySeq[axis.Seq[i]]
			want, ok := series[c.Name].Value(e)
			if ok != (y != nil) || ok && *y != want {
				t.Fatalf("%s at event %d is %v, the event says %v", c.Name, axis.Seq[i], y, want)
			}
			if step, _ := metrics.StepOf(e); step != axis.Step[i] {
				t.Fatalf("%s at event %d is drawn at step %d", c.Name, axis.Seq[i], axis.Step[i])
			}
			points++
		}
	}
	if points < 500 {
		t.Errorf("only %d points were compared", points)
	}
	if len(d.Legs) != 2 || d.Legs[1].Step != 8 || len(d.Alarms) != 1 || d.Alarms[0].Step != 5 || d.Alarms[0].Phase != "rl" {
		t.Errorf("legs %v, alarms %v", d.Legs, d.Alarms)
	}
}

func TestTimeAndTokensOnlyGrow(t *testing.T) {
	d := read(t, makeRun(t, demo.Options{Seed: 4, Crash: true}).report(t, web.Options{}))
	for name, a := range d.Axes {
		for i := 1; i < len(a.Step); i++ {
			if a.Tokens[i] < a.Tokens[i-1] || a.Seconds[i] < a.Seconds[i-1] || a.Step[i] < a.Step[i-1] {
				t.Fatalf("%s goes back at point %d", name, i)
			}
		}
	}
	if last := d.Axes["step_done"].Seconds; last[len(last)-1] > 60 {
		t.Errorf("%v s: the time between legs counts as work", last[len(last)-1])
	}
}

func TestLongRunsAreThinned(t *testing.T) {
	var r run
	for i := range int64(30000) {
		r.records = append(r.records, metrics.Record{Seq: i + 1, Leg: 1, Event: metrics.StepDone{Step: i + 1, Loss: float64(i)}})
	}
	page := r.report(t, web.Options{})
	a := read(t, page).Axes["step_done"]
	if len(a.Step) > 2001 || a.Every != 15 || a.Step[len(a.Step)-1] != 30000 {
		t.Errorf("%d points, every %d, the last at step %d", len(a.Step), a.Every, a.Step[len(a.Step)-1])
	}
	if len(page) > 1<<20 {
		t.Errorf("%d bytes", len(page))
	}
}

func TestSizeBudgetIsKeptAndCounted(t *testing.T) {
	r := makeRun(t, demo.Options{Seed: 5, Hostile: true})
	for _, limit := range []int64{200e3, 500e3, 15e6} {
		page := r.report(t, web.Options{MaxBytes: limit})
		d := read(t, page)
		if int64(len(page)) > limit {
			t.Errorf("%d bytes of %d", len(page), limit)
		}
		if len(d.Rollouts)+d.Omitted != len(r.rollouts) || len(d.Rollouts) == 0 {
			t.Errorf("%d rollouts, %d omitted, %d were kept", len(d.Rollouts), d.Omitted, len(r.rollouts))
		}
		if limit == 15e6 && d.Omitted != 0 {
			t.Errorf("%d rollouts do not fit into a whole report", d.Omitted)
		}
		evidence := false
		for _, k := range d.Rollouts {
			evidence = evidence || k.Alarm != ""
		}
		if !evidence {
			t.Errorf("the evidence of the alarm is missing at %d bytes", limit)
		}
	}
}

func TestEmptyRunIsAReport(t *testing.T) {
	for name, records := range map[string][]metrics.Record{
		"nothing":      nil,
		"only started": {{Seq: 1, Leg: 1, Event: metrics.RunStarted{Name: "x"}}},
		"not numbers":  {{Seq: 1, Leg: 1, Event: metrics.StepDone{Step: 1, Loss: math.NaN(), GradNorm: math.Inf(1)}}},
		"from a newer": {{Seq: 1, Leg: 1, Event: metrics.Unknown{Name: "x", Data: []byte(`{}`)}}},
	} {
		page := run{records: records}.report(t, web.Options{})
		if !strings.Contains(page, "</html>") {
			t.Errorf("%s: not a page", name)
		}
	}
}

// checkInert says whether text that a run brought along can leave its place in the page.
func checkInert(t testing.TB, page string) {
	t.Helper()
	head, rest, _ := strings.Cut(page, dataMark)
	text, tail, found := strings.Cut(rest, "</script>")
	if !found {
		t.Fatal("the data does not end")
	}
	if at := strings.IndexAny(text, "<>&\u2028\u2029"); at >= 0 {
		t.Errorf("the data holds %q", text[max(0, at-40):min(len(text), at+40)])
	}
	if n := strings.Count(tail, "<script"); n != 1 {
		t.Errorf("%d scripts follow the data", n)
	}
	summary := between(t, head, "<pre>", "</pre>")
	if strings.ContainsAny(summary, "<>") {
		t.Errorf("the summary holds a tag: %s", summary)
	}
	if title := between(t, head, "<title>", "</title>"); strings.ContainsAny(title, "<>") {
		t.Errorf("title %s", title)
	}
}

func TestHostileTextIsInert(t *testing.T) {
	for seed := range uint64(2) {
		r := makeRun(t, demo.Options{Seed: seed, Hostile: true})
		page := r.report(t, web.Options{})
		checkInert(t, page)
		if d := read(t, page); len(d.Rollouts) != len(r.rollouts) {
			t.Errorf("%d of %d rollouts survive", len(d.Rollouts), len(r.rollouts))
		}
	}
}

func FuzzReport(f *testing.F) {
	for _, s := range append(demo.Hostile, "{{SCRIPT}}", "{{", "{{DATA}}</script>", "\\u003c/script>") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := &metrics.RolloutKept{Split: metrics.Train, Prompt: s, Outcome: s, Why: []string{s}, Nodes: []metrics.Node{{Parent: -1, Finish: s, NewSegment: s}},
			Messages: []metrics.Message{{Role: s, Text: s, Thinking: s, Calls: []metrics.ToolCall{{ID: s, Name: s, Arguments: s}}}},
			Tokens: metrics.Tokens{ID: []int32{1}, Piece: []string{s}, Node: metrics.Runs[int]{0}, Sampled: metrics.Runs[bool]{true},
				Action: metrics.Runs[bool]{true}, Version: metrics.Runs[int64]{0}, LogpGen: []float32{-1}}}
		records := []metrics.Record{
			{Seq: 1, Leg: 1, Event: metrics.RunStarted{Name: s, Method: s, Command: s, Config: s, Model: metrics.Model{Name: s}, Machine: metrics.Machine{CPU: s}}},
			{Seq: 2, Leg: 1, Event: metrics.Alarm{Name: s, Severity: metrics.Severity(s), Sentence: s, Fix: s}},
			{Seq: 3, Leg: 1, Event: metrics.EvalDone{Name: s}},
			{Seq: 4, Leg: 1, Event: metrics.Note{Text: s}},
		}
		page := run{records, []*metrics.RolloutKept{r}}.report(t, web.Options{})
		checkInert(t, page)
		want := strings.ToValidUTF8(s, "\ufffd")
		if d := read(t, page); len([]rune(d.Run.Name)) < len([]rune(want)) && !strings.Contains(s, "\xff") {
			t.Errorf("the name %q became %q", s, d.Run.Name)
		}
	})
}

var color = regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{6})`)

// TestTextCanBeRead computes the contrast of WCAG 2.2 for each pair of text and background, in both themes.
func TestTextCanBeRead(t *testing.T) {
	css, err := os.ReadFile("assets/report.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, _ := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	dark, _, _ = strings.Cut(dark, "* { box-sizing")
	for name, text := range map[string]string{"light": light, "dark": dark} {
		colors := map[string]string{}
		for _, m := range color.FindAllStringSubmatch(text, -1) {
			colors[m[1]] = m[2]
		}
		for _, pair := range strings.Fields(`ink/page ink/card ink/tint quiet/page quiet/card quiet/tint accent/page accent/card accent/tint accent/accent-tint
			ink/accent-tint good/good-tint warn/warn-tint bad/bad-tint ink/warn-tint ink/bad-tint accent/warn-tint good/card quiet/accent-tint
			ink/s1 ink/s2 ink/s3 ink/s4 invert/s5 invert/s6 ink/n1 ink/n2 ink/n3 invert/n4 ink/p1 ink/p2 ink/p3 invert/p4`) {
			front, back, _ := strings.Cut(pair, "/")
			if colors[front] == "" || colors[back] == "" {
				t.Fatalf("%s: a colour of %s is not defined", name, pair)
			}
			if c := contrast(t, colors[front], colors[back]); c < 4.5 {
				t.Errorf("%s: %s has a contrast of %.2f, 4.5 is the least", name, pair, c)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(t *testing.T, hex string) float64 {
	v, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	channel := func(shift uint) float64 {
		c := float64(v>>shift&255) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}
