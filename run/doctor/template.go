// Chat template: where turns end, which of them extend what the model saw, and whether its calls are understood.

package doctor

import (
	"fmt"
	"slices"
	"strings"

	"molt/chat/facts"
	"molt/run/models"
)

func end(m *models.Model) Finding {
	id, there := m.Renderer.EndOfTurn()
	switch {
	case !there:
		return broken("end of turn", "the template ends no turn with a control token, so a sampled turn has no end", "use a template that does, such as ChatML")
	case !slices.Contains(m.EOS, id):
		return note("end of turn", fmt.Sprintf("turns end with %s (%d), which generation_config.json does not list; sampling stops there all the same", m.Tok.Token(id), id), "other programs may need it in eos_token_id")
	}
	return ok("end of turn", "turns end with %s (%d)", m.Tok.Token(id), id)
}

func template(m *models.Model) []Finding {
	has := func(token string) bool { _, ok := m.Tok.ID(token); return ok }
	f := facts.Describe(m.Template, m.Template.Source(), has)
	return append(turns(f.Turns), replies(m, f)...)
}

// turns says which turns keep a rollout one segment.
func turns(list []facts.Turn) []Finding {
	var extend []string
	var found []Finding
	for _, t := range list {
		switch t.Growth {
		case facts.Extends:
			extend = append(extend, t.Name)
		case facts.Rewrites:
			found = append(found, note("turns", fmt.Sprintf("%q: the template shows earlier turns differently afterwards (%s)", t.Name, t.Why),
				"rollouts keep what was sampled; agent.capture.mode faithful begins another segment where the template rewrites"))
		case facts.Fails:
			found = append(found, note("turns", fmt.Sprintf("%q: the template refuses such turns: %s", t.Name, t.Why), "keep them out of conversations, or take another template"))
		}
	}
	if extend == nil {
		return found
	}
	return append([]Finding{ok("turns", "these extend what the model saw, so a rollout is one segment: %s", strings.Join(extend, "; "))}, found...)
}

// replies gives the parser turns that the template wrote.
func replies(m *models.Model, f facts.Facts) []Finding {
	why := "nothing in the template shows another"
	if m.FamilyWhy != "" {
		why = "found by " + m.FamilyWhy
	}
	if !f.Tools {
		return []Finding{note("replies", fmt.Sprintf("read as %s (%s); the template shows no tools to the model", m.Family.Name, why), "offer tools in the text of prompts, or take a template with tools")}
	}
	var wrong, unwritten []string
	read := 0
	for _, t := range f.Turns {
		if t.Growth == facts.Fails || !strings.Contains(t.Name, "call") {
			continue
		}
		switch t.Reads {
		case facts.Same:
			read++
		case facts.Different:
			wrong = append(wrong, fmt.Sprintf("%q: %s", t.Name, t.Read))
		case facts.Unwritten:
			unwritten = append(unwritten, t.Name)
		}
	}
	switch {
	case wrong != nil:
		return []Finding{broken("replies", fmt.Sprintf("read as %s (%s), which does not understand turns that the template itself writes: %s", m.Family.Name, why, strings.Join(wrong, "; ")), "take the template that belongs to the model")}
	case read == 0:
		return []Finding{note("replies", fmt.Sprintf("read as %s (%s); the template writes no calls to try it on (%s)", m.Family.Name, why, strings.Join(unwritten, "; ")), "look at a few rollouts with tools before a long run")}
	}
	return []Finding{ok("replies", "read as %s (%s); %d kinds of turns with calls, as the template writes them, come back whole", m.Family.Name, why, read)}
}
