// Tokenizer and embedding: what the model can read and write.

package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"molt/chat"
	"molt/run/models"
)

func vocabulary(m *models.Model) []Finding {
	rows, ids := m.Config.VocabSize, m.Tok.VocabSize()
	found := []Finding{ok("vocabulary", "%d rows of the embedding for %d ids of the tokenizer", rows, ids)}
	if rows < ids {
		found[0] = broken("vocabulary", fmt.Sprintf("the tokenizer writes ids up to %d and the embedding has %d rows", ids-1, rows), "take the tokenizer.json that belongs to these weights")
	}
	for _, id := range m.EOS {
		if m.Tok.Token(id) == "" {
			found = append(found, broken("vocabulary", fmt.Sprintf("text ends with id %d, which is no token of the tokenizer", id), "mend eos_token_id in generation_config.json or config.json"))
		}
	}
	return found
}

func lostBytes(m *models.Model) Finding {
	lost := m.Tok.LostBytes()
	if len(lost) == 0 {
		return ok("bytes", "the vocabulary spells every byte")
	}
	return note("bytes", fmt.Sprintf("the vocabulary cannot spell %d of the bytes of UTF-8, such as 0x%02x: text with them loses them", len(lost), lost[0]), "keep such characters out of prompts and tools, or choose another model")
}

// samples are texts that tokenizers change, each with what is in it.
var samples = []struct{ what, text string }{
	{"plain words", "The quick brown fox jumps over 13 lazy dogs."},
	{"white space", "  two spaces,\n\n\ttabs\nand line ends \n"},
	{"code", "func f(x []int) map[string]int { return nil } // ≤ 80 columns"},
	{"capitals", "ABC Def gHI"},
	{"composed accents", "naïve café, Ångström"},
	{"decomposed accents", "nai\u0308ve cafe\u0301"},
	{"other scripts", "漢字 кириллица हिन्दी العربية"},
	{"emoji", "👩‍👩‍👧 🇨🇭 👍🏽"},
	{"full-width letters", "ＡＢＣ　１２３"},
	{"ligatures", "ﬁne ½ ²"},
}

// roundTrip writes texts as ids and reads them back.
func roundTrip(m *models.Model) Finding {
	var changed []string
	for _, s := range samples {
		if back := m.Tok.Decode(m.Tok.EncodeOrdinary(s.text)); back != s.text {
			if s.what == samples[0].what {
				return broken("round trip", fmt.Sprintf("%q comes back from the tokenizer as %q", s.text, back), "choose a model whose tokenizer keeps plain text; this one cannot show the policy what tools say")
			}
			changed = append(changed, fmt.Sprintf("%s (%q comes back as %q)", s.what, s.text, back))
		}
	}
	if changed == nil {
		return ok("round trip", "%d kinds of text come back from the tokenizer as they were", len(samples))
	}
	return note("round trip", "the tokenizer changes "+strings.Join(changed, ", "), "nothing needs to be done: ids are kept as they are sampled, and texts that go in are changed as in the reference")
}

// tag is how control tokens are spelled.
var tag = regexp.MustCompile(`<[|｜][^<>|｜\s'"{}%]{1,64}[|｜]>|<(?:start_of_turn|end_of_turn|bos|eos)>|</?s>|\[/?INST\]`)

// tokens looks for the control tokens that the template names.
func tokens(m *models.Model) []Finding {
	shown := sampleText(m)
	source := m.Template.For(false).Source() + m.Template.For(true).Source()
	named := tag.FindAllString(source, -1)
	for name, text := range map[string]string{"bos_token": m.Options.BOS, "eos_token": m.Options.EOS} {
		if text != "" && strings.Contains(source, name) {
			named = append(named, text)
		}
	}
	slices.Sort(named)
	named = slices.Compact(named)
	var missing []Finding
	for _, text := range named {
		if id, there := m.Tok.ID(text); there && m.Tok.IsControl(id) {
			continue
		}
		pieces := len(m.Tok.EncodeSpecial(text))
		if strings.Contains(shown, text) {
			missing = append(missing, broken("template", fmt.Sprintf("it writes %s, which is no control token of the tokenizer: the model would read %d pieces of text", text, pieces),
				"add it to added_tokens in tokenizer.json if the model knows it, or take the template that belongs to the model"))
			continue
		}
		missing = append(missing, note("template", fmt.Sprintf("it names %s, which is no control token of the tokenizer; conversations with calls and results do not show it", text), ""))
	}
	if missing == nil {
		return []Finding{ok("template", "its %d control tokens are in the vocabulary", len(named))}
	}
	return missing
}

// sampleText is a conversation as the template writes it; "" when it refuses that.
func sampleText(m *models.Model) string {
	var all strings.Builder
	for _, c := range []chat.Conversation{
		{Messages: []chat.Message{{Role: chat.User, Content: "a"}, {Role: chat.Assistant, Content: "b"}, {Role: chat.User, Content: "c"}}},
		{Messages: []chat.Message{{Role: chat.System, Content: "a"}, {Role: chat.User, Content: "b"}}},
		{Messages: []chat.Message{{Role: chat.User, Content: "a"}, {Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "call00001", Name: "f", Arguments: chat.Object()}}},
			{Role: chat.Tool, ToolCallID: "call00001", Name: "f", Content: "b"}}, Tools: []chat.ToolSpec{chat.NewToolSpec("f", "Does.", chat.Object())}},
	} {
		if text, err := m.Template.Render(c, true); err == nil {
			all.WriteString(text)
		}
	}
	return all.String()
}
