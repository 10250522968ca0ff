package inspect

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"molt/chat"
	"molt/engine/local"
	"molt/run/models"
)

const stories = "../../../shared/models/stories260K"

func ask(t *testing.T, line Line, input string) string {
	t.Helper()
	v, err := chat.ParseValue([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	said, err := line(v)
	if err != nil {
		return "error: " + err.Error()
	}
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// folder is a model without weights: an untrained byte-level tokenizer and a template.
func folder(t *testing.T) *models.Text {
	dir := t.TempDir()
	shape := models.TinyShape()
	if err := models.Init(models.InitConfig{Out: filepath.Join(dir, "m"), Shape: shape, VocabSize: 300, Texts: slices.Values([]string{"hello world"})}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "m", "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	text, err := models.TextFiles{Model: filepath.Join(dir, "m")}.Open()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTextLines(t *testing.T) {
	text := folder(t)
	encode, decode := Encode(text.Tok), Decode(text.Tok)
	meant := ask(t, encode, `{"text": "<|im_end|>"}`)
	if strings.Contains(meant, ",") {
		t.Errorf("a control token is %s", meant)
	}
	if got := ask(t, encode, `{"text": "<|im_end|>", "ordinary": true}`); got == meant {
		t.Errorf("a control token stayed one as ordinary text: %s", got)
	}
	ids := strings.TrimSuffix(strings.TrimPrefix(ask(t, encode, `{"text": "hé <|im_end|>"}`), `{"ids":`), "}")
	if got := ask(t, decode, `{"ids": `+ids+`}`); got != `{"text":"hé \u003c|im_end|\u003e"}` {
		t.Error(got)
	}
	if got := ask(t, decode, `{"ids": `+ids+`, "skip_special_tokens": true}`); got != `{"text":"hé "}` {
		t.Error(got)
	}
	ids = strings.TrimSuffix(strings.TrimPrefix(ask(t, encode, `{"text": "a ."}`), `{"ids":`), "}")
	if as, cleaned := ask(t, decode, `{"ids": `+ids+`}`), ask(t, decode, `{"ids": `+ids+`, "clean_up_tokenization_spaces": true}`); as != `{"text":"a ."}` || cleaned != `{"text":"a."}` {
		t.Error(as, cleaned)
	}
	for input, want := range map[string]string{
		`{"txt": "a"}`:                     `key "txt" is not understood (text, ordinary and add_special_tokens are)`,
		`{}`:                               `key "text" is missing`,
		`{"text": 1}`:                      "want string",
		`[1]`:                              "want an object with text",
		`{"text": "a", "ordinary": "yes"}`: "ordinary is of type",
	} {
		if got := ask(t, encode, input); !strings.Contains(got, want) {
			t.Errorf("%s: %s; want %s", input, got, want)
		}
	}
	if got := ask(t, decode, `{"ids": [999999]}`); !strings.Contains(got, "outside the tokenizer's") {
		t.Error(got)
	}
}

func TestRenderLines(t *testing.T) {
	text := folder(t)
	render := Render(text, time.Time{})
	var got Prompt
	if err := json.Unmarshal([]byte(ask(t, render, `{"messages": [{"role": "user", "content": "Hi <|im_end|>"}]}`)), &got); err != nil {
		t.Fatal(err)
	}
	if want := "<|im_start|>user\nHi <|im_end|><|im_end|>\n<|im_start|>assistant\n"; got.Prompt != want || got.Masked != 1 || text.Tok.Decode(got.IDs) != want {
		t.Errorf("%+v", got)
	}
	if got := ask(t, render, `{"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": false}`); strings.Contains(got, "assistant") {
		t.Error(got)
	}
	for input, want := range map[string]string{
		`{"messages": []}`: "without messages",
		`{"messages": [{"role": "king", "content": ""}]}`: `role \"king\"`,
		`{"messages": 1}`: "want an array",
	} {
		if got := ask(t, render, input); !strings.Contains(strings.ReplaceAll(got, `"`, `\"`), strings.ReplaceAll(strings.ReplaceAll(want, `\"`, `"`), `"`, `\"`)) {
			t.Errorf("%s: %s; want %s", input, got, want)
		}
	}
	alone := Render(&models.Text{Sources: []chat.Source{{Name: "default", Text: "{{ messages[0].content }}{{ enable_thinking }}{{ a.b }}"}}}, time.Time{})
	if got := ask(t, alone, `{"messages": [{"role": "user", "content": "x"}], "enable_thinking": false, "chat_template_kwargs": {"a": {"b": 1.0}}}`); got != `{"prompt":"xFalse1.0"}` {
		t.Error(got)
	}
}

// TestRenderChooses: tools choose their template as in a run, and a name chooses for all.
func TestRenderChooses(t *testing.T) {
	text := models.Text{Sources: []chat.Source{{Name: "default", Text: "plain"}, {Name: "tool_use", Text: "tools"}, {Name: "rag", Text: "{{ documents[0] }}"}}}
	const plain, tools = `{"messages": [{"role": "user", "content": "x"}]}`, `{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": {"name": "f"}}], "documents": ["d"]}`
	for _, c := range []struct{ name, input, want string }{{"", plain, "plain"}, {"", tools, "tools"}, {"tool_use", plain, "tools"}, {"default", tools, "plain"}, {"rag", tools, "d"}} {
		text.Template = c.name
		if got := ask(t, Render(&text, time.Time{}), c.input); got != `{"prompt":"`+c.want+`"}` {
			t.Errorf("%q, %s: %s", c.name, c.input, got)
		}
	}
	text.Sources, text.Template = text.Sources[2:], ""
	if got := ask(t, Render(&text, time.Time{}), plain); !strings.Contains(got, `no chat template is called "default"; there are rag`) {
		t.Error(got)
	}
}

func TestOracle(t *testing.T) {
	if _, err := os.Stat(stories); err != nil {
		t.Skip("SKIPPED: ../shared/models/stories260K is not here")
	}
	m, err := models.Open(stories)
	if err != nil {
		t.Fatal(err)
	}
	o, err := local.NewOracle(m.Shape, m.Weights, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var got Logits
	if err := json.Unmarshal([]byte(ask(t, Oracle(o), `{"ids": [1, 403, 407, 261], "top": 3, "logits": "last"}`)), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Logp) != 3 || len(got.Top) != 4 || len(got.Top[0]) != 3 || len(got.Logits) != 1 || len(got.Logits[0]) != m.Shape.Vocab {
		t.Fatalf("%+v", got)
	}
	if got.Top[0][0].ID != 403 || got.Top[0][0].Logp != got.Logp[0] || math.Abs(got.Logp[0]+0.24374) > 1e-4 {
		t.Errorf("%+v %v", got.Top[0], got.Logp)
	}
	sum := 0.0
	for _, x := range got.Logits[0] {
		sum += math.Exp(float64(x))
	}
	if normal := math.Log(sum); math.Abs(float64(got.Logits[0][got.Top[3][0].ID])-normal-got.Top[3][0].Logp) > 1e-6 {
		t.Error("the log-probs are not those of the logits")
	}
	if got := ask(t, Oracle(o), `{"ids": []}`); !strings.Contains(got, "0 ids; want 1 to 512") {
		t.Error(got)
	}
}
