package harnesses

// A person at a terminal, who asks twice.

import (
	"cmp"
	"slices"
	"testing"

	"molt/gateway/capture"
	"molt/gateway/script"
)

// person: two prompts in one conversation, the first of which takes a call, are one main segment; naming it is a side errand.
func person(t *testing.T, k *kit) cell {
	texts := []string{thinking + k.shell("echo 6 > six"), "Written.", "All done."}
	if k.final != "" {
		texts[1], texts[2] = k.final, k.final
	}
	var lines []script.Line
	if k.spoken != "" {
		lines = append(lines, script.Line{Match: k.spoken, Text: `{"title":"A name"}`, Loop: true})
	}
	for _, text := range texts {
		lines = append(lines, script.Line{Text: text})
	}
	r := (&trial{kit: k, lines: lines, typed: k.hands(texts), watched: !k.shy}).run(t)
	side := r.said(capture.Background)
	switch c := once(r, texts); {
	case c.verdict != "ok":
		return r.failed(t, "%s", c.note)
	case r.work["six"] != "6\n":
		return r.failed(t, "the command wrote %q", r.work["six"])
	case k.spoken == "" && len(side) > 0 || k.spoken != "" && !slices.Equal(slices.Compact(side), over([]string{`{"title":"A name"}`})):
		return r.failed(t, "side errands %q", side)
	}
	switch c := quiet(r); {
	case c.verdict == "fails" && k.calls != "":
		return cell{"ok, calls", k.calls}
	case c.verdict == "fails":
		return c
	}
	return okay
}

// hands type the two prompts, say yes when asked, and leave.
func (k *kit) hands(texts []string) []keys {
	all := []keys{{k.ready, k.greet + "Please write six." + cmp.Or(k.enter, "\r")}}
	yes := func() {
		if k.allow != "" {
			all = append(all, keys{k.allow, "\r"})
		}
	}
	yes()
	if k.final == "" {
		return append(all, keys{texts[1], "Once more, please." + cmp.Or(k.enter, "\r")}, keys{texts[2], k.leave})
	}
	yes()
	all = append(all, keys{k.ended, "Once more, please.\r"})
	yes()
	return append(all, keys{k.ended, k.leave})
}
