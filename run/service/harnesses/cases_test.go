package harnesses

// The cases: each lets a harness work on a script, and says in one word what became of it, with a sentence when that is not ok.

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"molt/engine/enginetest"
	"molt/gateway/capture"
	"molt/gateway/forest"
	"molt/gateway/script"
)

// cell is a field of the table.
type cell struct{ verdict, note string }

var okay = cell{verdict: "ok"}

func failed(format string, args ...any) cell { return cell{"fails", fmt.Sprintf(format, args...)} }

func absent(note string) cell { return cell{"–", note} }

const (
	thinking = "<think>\n  let me think \n</think>\n\n Working on it.\n"
	ended    = "<|im_end|>"
)

// loop is a tool loop of three turns, the second of which calls twice. It fills four columns.
func loop(t *testing.T, k *kit) []cell {
	texts := []string{thinking + k.shell(`echo  "q" é > one`), k.shell("echo 2 > two") + k.shell("echo 3 > three"), k.end()}
	r := (&trial{kit: k, prompt: "Please say hi.", lines: k.play(texts...), watched: true}).run(t)
	one, both := once(r, texts), okay
	if r.work["one"] != "q é\n" && one.verdict == "ok" {
		one = failed("the command of turn 1 wrote %q", r.work["one"])
	}
	if r.work["two"] != "2\n" || r.work["three"] != "3\n" {
		both = failed("the two calls of turn 2 wrote %q and %q", r.work["two"], r.work["three"])
	}
	if one.verdict != "ok" || both.verdict != "ok" {
		t.Log(r.tree())
	}
	return []cell{one, both, background(r, k), quiet(r)}
}

// once: these turns are one main segment, and each of their tokens is the engine's and trains once.
func once(r *result, texts []string) cell {
	switch err := identity(r); {
	case err != nil:
		return failed("%v", err)
	case r.code != 0:
		return failed("it ends with exit code %d", r.code)
	case len(r.segments(capture.Main)) != 1:
		return failed("%d main segments", len(r.segments(capture.Main)))
	case !slices.Equal(r.said(capture.Main), over(texts)):
		return failed("the turns are %q", r.said(capture.Main))
	}
	return okay
}

// over are texts as turns end.
func over(texts []string) (turns []string) {
	for _, text := range texts {
		turns = append(turns, text+ended)
	}
	return turns
}

// background: what names a conversation is a root of its own.
func background(r *result, k *kit) cell {
	side := r.said(capture.Background)
	switch {
	case k.title == "" && len(side) == 0:
		return absent("")
	case k.title == "":
		return failed("a side errand that nobody knows of: %q", side)
	case !slices.Equal(side, []string{"A name" + ended}):
		return failed("side errands %q", side)
	}
	return okay
}

func quiet(r *result) cell {
	switch {
	case !r.watched:
		return absent("not watched: strace is not installed")
	case len(r.abroad) > 0:
		return failed("it tries %s", strings.Join(r.abroad, ", "))
	}
	return okay
}

// helpers: a sub-agent is one segment beside the main one.
func helpers(t *testing.T, k *kit) cell {
	if k.helper == nil {
		return absent("")
	}
	lines := k.play()
	for _, text := range []string{k.helper("WORKER: write a file."), k.pause(), k.end()} {
		if text != "" {
			lines = append(lines, script.Line{Match: "MANAGER", Text: text})
		}
	}
	work := []string{k.shell("echo 4 > four"), "Written."}
	for _, text := range work {
		lines = append(lines, script.Line{Match: "WORKER", Text: text})
	}
	r := (&trial{kit: k, prompt: "MANAGER: let somebody write a file.", lines: lines}).run(t)
	all := r.segments(capture.SubAgent)
	main := r.segments(capture.Main)
	named := len(all) == 1 && all[0].Agent.ID != ""
	if !named { // one that does not say so is a root of its own
		for i, s := range main {
			if strings.Contains(decode(s.Tokens), "Written."+ended) && !strings.Contains(decode(s.Tokens), "MANAGER") {
				all, main = append(all, s), slices.Delete(slices.Clone(main), i, i+1)
				break
			}
		}
	}
	switch err := identity(r); {
	case err != nil:
		return r.failed(t, "%v", err)
	case r.work["four"] != "4\n":
		return r.failed(t, "the sub-agent's command wrote %q", r.work["four"])
	case len(main) != 1 || len(all) != 1:
		return r.failed(t, "%d main segments and %d of sub-agents", len(main), len(all))
	case !slices.Equal(sampled(r, all[0]), over(work)):
		return r.failed(t, "the sub-agent's turns are %q", sampled(r, all[0]))
	case !named:
		return cell{"ok, unnamed", "its requests do not say which agent asks: the sub-agent is a segment of kind main"}
	}
	return okay
}

// pause is a call that waits, or nothing.
func (k *kit) pause() string {
	if k.wait == "" {
		return ""
	}
	return k.shell("sleep " + k.wait)
}

// sampled are the texts of the turns along a segment, with those that were carried into it.
func sampled(r *result, s capture.Segment) (texts []string) {
	for _, i := range slices.Compact(slices.Clone(s.Node)) {
		for _, carried := range r.export.Tree[i].Spliced {
			texts = append(texts, decode(r.export.Tree[carried].Sampled))
		}
		texts = append(texts, decode(r.export.Tree[i].Sampled))
	}
	return texts
}

func (r *result) failed(t *testing.T, format string, args ...any) cell {
	t.Log(r.tree())
	return failed(format, args...)
}

// compaction: what came before and what goes on are two segments, and a turn that is carried over is shown as it was sampled.
func compaction(t *testing.T, k *kit) cell {
	if k.summary == "" {
		return absent(k.lasting)
	}
	big := func(size int) string { return k.shell(fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", size)) }
	lines := append([]script.Line{{Match: k.summary, Text: summary, Loop: true}}, k.play(big(28000), big(9000))...)
	for range k.rounds {
		lines = append(lines, script.Line{Text: k.shell("pwd")})
	}
	lines = append(lines, script.Line{Text: k.shell("echo 5 > five")})
	lines = append(lines, script.Line{Text: k.end(), Loop: true})
	r := (&trial{kit: k, prompt: "Please look around.", lines: lines, length: k.short, room: k.room}).run(t)
	var before, after, own int
	carried := false
	for _, s := range r.export.Segments {
		turns := sampled(r, s)
		root := &r.export.Tree[s.Node[0]]
		switch told := strings.Contains(decode(root.Observation), summary); {
		case turns[len(turns)-1] == summary+ended:
			own++ // the summary itself, behind the history or on its own
		case s.Kind != capture.Main:
		case told:
			after++
			carried = carried || len(root.Spliced) > 0
		default:
			before++
		}
	}
	switch err := identity(r); {
	case err != nil:
		return r.failed(t, "%v", err)
	case r.code != 0 || r.work["five"] != "5\n":
		return r.failed(t, "exit code %d, files %q", r.code, slices.Sorted(maps.Keys(r.work)))
	case own == 0:
		return r.failed(t, "it never compacts")
	case before != 1 || after != 1:
		return r.failed(t, "%d main segments before the summary and %d behind it", before, after)
	case !carried:
		return cell{"ok, none carried", ""}
	}
	return okay
}

const summary = "SUMMARY: they looked."

// retries: an engine that is away, slow, or gone in the middle.
func retries(t *testing.T, k *kit) cell {
	texts := []string{thinking + k.shell("echo 1 > one"), k.shell("echo 2 > two"), k.end()}
	lines := k.play(texts...)
	at := len(lines) - len(texts)
	cut := lines[at+1]
	cut.Trouble, cut.After = enginetest.Unavailable, 9
	rest := cut.Text[len(decode(encode(cut.Text)[:9])):]
	lines[at].Trouble, lines[at].Pause = enginetest.Slow, 20
	lines = slices.Insert(lines, at+1, cut)
	lines[at+2].Text = rest
	lines = slices.Insert(lines, at, script.Line{Text: "lost", Trouble: enginetest.Unavailable})
	r := (&trial{kit: k, prompt: "Please say hi.", lines: lines, resume: 3}).run(t)
	switch err := identity(r); {
	case err != nil:
		return r.failed(t, "%v", err)
	case r.code != 0 || r.work["two"] != "2\n":
		return r.failed(t, "exit code %d, files %q", r.code, r.work)
	case len(r.segments(capture.Main)) != 1:
		return r.failed(t, "%d main segments", len(r.segments(capture.Main)))
	case !slices.Equal(r.said(capture.Main), over(texts)):
		return r.failed(t, "the turns are %q", r.said(capture.Main))
	}
	return okay
}

// broken: a stream that ends early in a reply, one that ends late, and one that lacks nothing but its end.
func broken(t *testing.T, k *kit) cell {
	texts := []string{thinking + k.shell("echo 1 > one"), k.shell("echo 2 > two"), k.end()}
	lines := k.play(texts...)
	at := len(lines) - len(texts)
	cut := lines[at]
	cut.Trouble, cut.After = enginetest.Unavailable, len(encode(thinking))+12
	lines = slices.Insert(lines, at, cut)
	lines = append(lines, script.Line{Text: k.end(), Loop: true})
	r := (&trial{kit: k, prompt: "Please say hi.", lines: lines, sever: 3}).run(t)
	story := r.story(k.end())
	switch err := identity(r); {
	case err != nil:
		return r.failed(t, "%v", err)
	case len(story) == 0 && k.breaks != "" && r.code != 0:
		return cell{"ends", k.breaks}
	case slices.Equal(story, over(texts)):
		return cell{"ok, asks again", ""}
	case len(story) == 0:
		return r.failed(t, "no turn that ended its run was accepted")
	case strings.HasPrefix(thinking, story[0]) && slices.Equal(story[1:], over(texts)):
		return cell{"ok, goes on", "it keeps what it had of the broken reply: that part trains, the rest is dropped"}
	case k.both != "" && slices.Equal(slices.Compact(story[part(story):]), over(texts)):
		return cell{"ok, both", k.both}
	case len(story) == 2 && k.breaks != "" && slices.Equal(story, over([]string{texts[0], k.end()})):
		return cell{"ok, edits", k.breaks}
	}
	return r.failed(t, "the turns are %q", story)
}

// part counts the parts of a reply at the beginning of a story.
func part(story []string) int {
	if strings.HasPrefix(thinking, story[0]) {
		return 1
	}
	return 0
}

// story are the turns that lead to an accepted one with this text.
func (r *result) story(last string) []string {
	for _, s := range r.export.Segments {
		turns := sampled(r, s)
		if s.Fate == forest.Accepted && turns[len(turns)-1] == last+ended {
			return turns
		}
	}
	return nil
}

func encode(text string) []int32 {
	r, err := script.Model()
	if err != nil {
		panic(err)
	}
	return r.Tokenizer().EncodeSpecial(text)
}
