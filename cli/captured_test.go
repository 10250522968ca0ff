package cli

import (
	"strings"
	"testing"

	"molt/gateway/capture"
)

// TestExportsThatAreNone: what is shown is a tree whose segments are whole.
func TestExportsThatAreNone(t *testing.T) {
	for data, want := range map[string]string{
		`{"id":"A","tree":[],"segments":[]}`:                                                  "",
		`{"id":"A","tree":[{"parent":-1},{"parent":0}],"segments":[]}`:                        "",
		`{"id":"A","tree":[{"parent":0}],"segments":[]}`:                                      "tree[0].parent is 0",
		`{"id":"A","tree":[{"parent":-2}],"segments":[]}`:                                     "tree[0].parent is -2",
		`{"id":"A","tree":[{"parent":-1}],"segments":[{"tokens":[1],"action":[true,false]}]}`: "segments[0]",
		`{"seq":1}`: "missing",
		`x`:         "no export",
		``:          "no export",
	} {
		_, err := readExport("-", strings.NewReader(data))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", data, err, want)
		}
	}
}

// TestCertificate: two turns, the first of which is a title in a format that its client demanded.
func TestCertificate(t *testing.T) {
	whole := func() *capture.Export {
		return &capture.Export{
			Tree: []capture.Node{{Sampled: []int32{1, 2}, LogpGen: []float32{-1, -1}, Untrained: "output_config.format"}, {Sampled: []int32{3, 4, 5}, LogpGen: []float32{-1, -1, -1}}},
			Segments: []capture.Segment{
				{Tokens: []int32{9, 1, 2}, Action: []bool{false, false, false}, Node: []int32{0, 0, 0}},
				{Tokens: []int32{9, 3, 4, 5}, Action: []bool{false, true, true, true}, Node: []int32{1, 1, 1, 1}},
			},
		}
	}
	for name, c := range map[string]struct {
		change func(*capture.Export)
		want   string
	}{
		"as it should be":        {func(*capture.Export) {}, "certificate: 5 sampled ids, each with the log-prob it was sampled with; 3 are trained on, each in exactly one segment, and 2 are not, as their clients demanded (output_config.format)"},
		"everything trains":      {func(e *capture.Export) { e.Tree[0].Untrained, e.Segments[0].Action = "", []bool{false, true, true} }, "certificate: 5 sampled ids, each with the log-prob it was sampled with, each trained on in exactly one segment"},
		"the title trains":       {func(e *capture.Export) { e.Segments[0].Action[1] = true }, "NO certificate: 5 sampled ids, 5 log-probs, 4 trained on, 2 of turns that do not train"},
		"one does not train":     {func(e *capture.Export) { e.Segments[1].Action[1] = false }, "NO certificate"},
		"one trains as another":  {func(e *capture.Export) { e.Segments[1].Tokens[2] = 7 }, "NO certificate"},
		"it trains for no turn":  {func(e *capture.Export) { e.Segments[1].Node[2] = 2 }, "NO certificate"},
		"one lacks its log-prob": {func(e *capture.Export) { e.Tree[1].LogpGen = e.Tree[1].LogpGen[1:] }, "NO certificate"},
	} {
		e := whole()
		c.change(e)
		if got := certificate(e); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestDeepTreesStayNarrow: a tree that branches at every turn is printed in as many lines as it has turns, none of them long.
func TestDeepTreesStayNarrow(t *testing.T) {
	e := &capture.Export{}
	for i := range int32(400) {
		e.Tree = append(e.Tree, capture.Node{Parent: i/2*2 - 1})
	}
	for line := range strings.Lines(captured(e)) {
		if len(line) > 200 {
			t.Fatalf("a line of %d bytes", len(line))
		}
	}
}
