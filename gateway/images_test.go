package gateway

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"molt/chat"
	"molt/engine"
	"molt/engine/enginetest"
	"molt/gateway/script"
	"molt/gateway/wire/wiretest"
	"molt/traj"
)

func picture(t *testing.T, b64 string) chat.Part {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		t.Fatal(err)
	}
	image, err := chat.NewImage(data)
	if err != nil {
		t.Fatal(err)
	}
	return chat.Part{Image: image}
}

// seeing is a gateway whose template shows images; its engine reads them, unless it is for text only.
func seeing(t *testing.T, textOnly bool) (*Gateway, *enginetest.Script) {
	t.Helper()
	r, err := script.Model()
	if err != nil {
		t.Fatal(err)
	}
	end, _ := r.EndOfTurn()
	e := enginetest.NewScript(enginetest.ScriptConfig{Vocab: r.Tokenizer().VocabSize(), TextOnly: textOnly, Reply: func(engine.Request) []int32 {
		return append(r.Tokenizer().EncodeSpecial("ok"), end)
	}})
	g, err := New(Config{Generator: e, Renderer: r, Family: hermes(t), MaxTokens: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return g, e
}

var once = Options{Sampling: engine.Sampling{Temperature: 1, MaxTokens: 10}}

// placed checks that the prompts of requests show these images at their placeholders.
func checkPlaced(t *testing.T, g *Gateway, requests []engine.Request, want ...[]chat.Part) {
	t.Helper()
	placeholder, _ := g.config.Renderer.Tokenizer().ID("<|image|>")
	for i, r := range requests {
		if len(r.Images) != len(want[i]) {
			t.Errorf("request %d shows %d images; want %d", i, len(r.Images), len(want[i]))
			continue
		}
		for k, m := range r.Images {
			if r.Prompt[m.At] != placeholder || m.Digest != want[i][k].Image.Digest || !bytes.Equal(m.Data, want[i][k].Image.Data()) {
				t.Errorf("request %d: image %d is %+v", i, k, m)
			}
		}
	}
}

// TestImagesOfEnvironments: every turn is given the images of all turns before.
func TestImagesOfEnvironments(t *testing.T) {
	a, b := picture(t, wiretest.PNG), picture(t, wiretest.GIF)
	g, e := seeing(t, false)
	s, err := g.Open(once)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin([]chat.Message{chat.NewMessage(chat.User, chat.Part{Text: "see"}, a)}, nil); err != nil {
		t.Fatal(err)
	}
	for _, observation := range [][]chat.Message{nil, {chat.NewMessage(chat.User, b, chat.Part{Text: "and"}, a)}, {{Role: chat.User, Content: "so?"}}} {
		if _, err := s.Turn(t.Context(), observation); err != nil {
			t.Fatal(err)
		}
	}
	checkPlaced(t, g, e.Requests(), []chat.Part{a}, []chat.Part{a, b, a}, []chat.Part{a, b, a})
	rollout := traj.Rollout{Outcome: traj.Completed, Nodes: s.Nodes()}
	if err := rollout.Validate(g.config.Renderer.Tokenizer().VocabSize(), 0); err != nil {
		t.Error(err)
	}
	segments := rollout.Segments()
	if len(segments) != 1 || len(segments[0].Images) != 3 {
		t.Fatalf("%d segments: %+v", len(segments), segments)
	}
	for i, m := range e.Requests()[2].Images {
		if got := segments[0].Images[i]; got.At != m.At || got.Digest != m.Digest {
			t.Errorf("image %d stands at %d in the segment, and at %d in the prompt", i, got.At, m.At)
		}
	}
}

// TestImagesOfLiteralText: the author of the text writes the placeholders.
func TestImagesOfLiteralText(t *testing.T) {
	a, b := picture(t, wiretest.PNG), picture(t, wiretest.GIF)
	g, e := seeing(t, false)
	literal := func(text string, images ...chat.Part) []chat.Message {
		return []chat.Message{chat.NewMessage(chat.User, slices.Concat([]chat.Part{{Text: text}}, images)...)}
	}
	s, err := g.OpenText(once)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(literal("see <|image|>:", a), nil); err != nil {
		t.Fatal(err)
	}
	for _, observation := range [][]chat.Message{nil, literal("<|image|>or<|image|>?", b, a)} {
		if _, err := s.Turn(t.Context(), observation); err != nil {
			t.Fatal(err)
		}
	}
	checkPlaced(t, g, e.Requests(), []chat.Part{a}, []chat.Part{a, b, a})
	if _, err := s.Turn(t.Context(), literal("<|image|>", a, a)); err == nil || !strings.Contains(err.Error(), "2 images came out as 1 placeholders") {
		t.Errorf("an image without a placeholder: %v", err)
	}
}

func TestImagesAndAModelForText(t *testing.T) {
	g, _ := seeing(t, true)
	seen := []chat.Message{chat.NewMessage(chat.User, chat.Part{Text: "<|image|>"}, picture(t, wiretest.PNG))}
	s, err := g.Open(once)
	if err != nil {
		t.Fatal(err)
	}
	text, err := g.OpenText(once)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(seen, nil); err != nil {
		t.Fatal(err)
	}
	if err := text.Begin(seen, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Turn(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "text-only model") {
		t.Errorf("%v", err)
	}
	if _, err := text.Turn(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "text-only model") {
		t.Errorf("%v", err)
	}
}
