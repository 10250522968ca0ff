package capture

import (
	"bytes"
	"encoding/json/v2"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/chat"
	"molt/engine"
	"molt/engine/enginetest"
	"molt/gateway/script"
	"molt/gateway/wire"
	"molt/traj"
)

// picture is an image of one colour.
func picture(t testing.TB, gray uint8) *chat.Image {
	t.Helper()
	p := image.NewGray(image.Rect(0, 0, 2, 2))
	p.SetGray(0, 0, color.Gray{Y: gray})
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	m, err := chat.NewImage(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func seen(role chat.Role, images ...*chat.Image) chat.Message {
	parts := []chat.Part{{Text: "see"}}
	for _, m := range images {
		parts = append(parts, chat.Part{Image: m})
	}
	return chat.NewMessage(role, parts...)
}

func seeingRenderer(t testing.TB) *chat.Renderer {
	t.Helper()
	r, err := script.Model()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// seeing is a world whose template and engine take images. Every reply is "ok".
func seeing(t testing.TB, change func(*Config)) *world {
	t.Helper()
	r := seeingRenderer(t)
	end, _ := r.EndOfTurn()
	w := newWorld(t, nil, func(c *Config) {
		c.Renderer = r
		c.Generator = enginetest.NewScript(enginetest.ScriptConfig{Vocab: r.Tokenizer().VocabSize(), MaxTokens: 1 << 16, Reply: func(engine.Request) []int32 {
			return append(r.Tokenizer().EncodeSpecial("ok"), end)
		}})
		if change != nil {
			change(c)
		}
	})
	w.engine = w.gateway.config.Generator.(*enginetest.Script)
	return w
}

// placed checks that a prompt shows these images, each at its placeholder, and with its bytes.
func (w *world) placed(r engine.Request, want ...*chat.Image) {
	w.t.Helper()
	placeholder, _ := w.gateway.config.Renderer.Tokenizer().ID("<|image|>")
	var at []int
	for i, id := range r.Prompt {
		if id == placeholder {
			at = append(at, i)
		}
	}
	if len(r.Images) != len(want) || len(at) != len(want) {
		w.t.Fatalf("%s: %d images at %d placeholders; want %d", r.Tag, len(r.Images), len(at), len(want))
	}
	for i, m := range r.Images {
		if m.At != at[i] || m.Digest != want[i].Digest || m.Media != "image/png" || !bytes.Equal(m.Data, want[i].Data()) {
			w.t.Errorf("%s: image %d is %+v; want %s at %d", r.Tag, i, m, want[i].Digest, at[i])
		}
	}
}

// TestImages: a conversation with images grows like any other, and the engine is given every image of it.
func TestImages(t *testing.T) {
	w := seeing(t, func(c *Config) { c.Folder = t.TempDir() })
	a, b := picture(t, 1), picture(t, 2)
	messages := []chat.Message{seen(chat.User, a)}
	w.ask(messages, nil)
	again := picture(t, 1) // equal bytes, sent again
	messages = []chat.Message{seen(chat.User, again), said("ok"), seen(chat.User, b, a)}
	w.ask(messages, nil)
	w.ask([]chat.Message{seen(chat.User, b), said("ok"), seen(chat.User, b, a)}, nil) // another first image is another conversation
	requests := w.engine.Requests()
	w.placed(requests[0], a)
	w.placed(requests[1], a, b, a)
	w.placed(requests[2], b, b, a)
	nodes := w.session.Nodes()
	if nodes[1].Parent != 0 || nodes[2].Parent != -1 || len(nodes[1].Images) != 2 || !bytes.Equal(nodes[1].Images[1].Data, a.Data()) {
		t.Errorf("%+v", nodes)
	}
	if selected := w.session.Select(func(n Node) bool { return n.Parent >= 0 }); !bytes.Equal(selected[0].Images[0].Data, a.Data()) || !bytes.Equal(selected[1].Images[1].Data, a.Data()) {
		t.Errorf("what is selected for training shows images without bytes: %+v", selected)
	}
	rollout := traj.Rollout{Outcome: traj.Completed, Nodes: nodes}
	if err := rollout.Validate(w.gateway.config.Renderer.Tokenizer().VocabSize(), 0); err != nil {
		t.Error(err)
	}
	e := w.session.Export()
	placeholder, _ := w.gateway.config.Renderer.Tokenizer().ID("<|image|>")
	for _, s := range e.Segments {
		for _, m := range s.Images {
			if len(s.Images) != 3 || s.Tokens[m.At] != placeholder {
				t.Errorf("segment %d: %+v", s.Leaf, s.Images)
			}
		}
	}
	text, err := json.Marshal(e)
	if want := `"images":[{"at":`; err != nil || !strings.Contains(string(text), want) || !strings.Contains(string(text), a.Digest) || len(e.Images) != 2 {
		t.Errorf("%s: %v; want %s", text, err, want)
	}

	w.restart()
	if kept, ok := w.session.Image(a.Digest); !ok || !bytes.Equal(kept.Data(), a.Data()) || kept.Width != 2 {
		t.Errorf("an image is lost: %+v", kept)
	}
	r := request([]chat.Message{user("and now?")}, nil)
	r.Previous = "resp_" + e.Tree[1].Name
	r.Store = true
	if _, p := w.session.Ask(t.Context(), r, Caller{}); p == nil || p.Class != wire.Missing {
		t.Errorf("a turn that was not stored is continued: %v", p)
	}
	w.ask(append(slices.Clone(messages), said("ok"), user("and now?")), nil)
	requests = w.engine.Requests()
	w.placed(requests[len(requests)-1], a, b, a)
	if n := w.session.Nodes(); n[3].Parent != 1 || n[0].Images[0].Data == nil {
		t.Errorf("%+v", n)
	}
	if err := w.session.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(w.gateway.config.Folder, "*")); len(left) != 1 { // the lock
		t.Errorf("a closed session leaves %v", left)
	}
	if kept := w.gateway.kept.Load(); kept != 0 {
		t.Errorf("%d bytes are kept of no session", kept)
	}
}

// TestStoredImages: a conversation that is continued by name after a restart shows images that its client does not send again.
func TestStoredImages(t *testing.T) {
	w := seeing(t, func(c *Config) { c.Folder = t.TempDir() })
	a := picture(t, 1)
	r := request([]chat.Message{seen(chat.User, a)}, nil)
	r.Store = true
	w.send(r, Caller{})
	w.restart()
	r = request([]chat.Message{user("and now?")}, nil)
	r.Previous = "resp_" + w.session.Export().Tree[0].Name
	w.send(r, Caller{})
	requests := w.engine.Requests()
	w.placed(requests[1], a)
}

// TestDamagedImage: a session whose image is not what its journal says is set aside.
func TestDamagedImage(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"missing": os.Remove,
		"changed": func(path string) error { return os.WriteFile(path, picture(t, 9).Data(), 0o600) },
		"empty":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		w := seeing(t, func(c *Config) { c.Folder = t.TempDir() })
		w.ask([]chat.Message{seen(chat.User, picture(t, 1))}, nil)
		if err := w.gateway.Close(); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(w.gateway.config.Folder, "*.images", "*"))
		if len(files) != 1 {
			t.Fatalf("%s: files %v", name, files)
		}
		if err := spoil(files[0]); err != nil {
			t.Fatal(err)
		}
		g, err := New(w.gateway.config)
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(g.Notes(), "\n"); !strings.Contains(notes, "image") || !strings.Contains(notes, ".damaged") {
			t.Errorf("%s: notes %q", name, notes)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestImagesThatCannotBeShown: by a template for text only, or beyond what a session and all of them may hold.
func TestImagesThatCannotBeShown(t *testing.T) {
	w := newWorld(t, nil, nil)
	_, p := w.session.Ask(t.Context(), request([]chat.Message{seen(chat.User, picture(t, 1))}, nil), Caller{})
	if p == nil || p.Class != wire.Bad || !strings.Contains(p.Message, "the template is for text only") {
		t.Errorf("%+v", p)
	}
	a, b := picture(t, 1), picture(t, 2)
	w = seeing(t, nil)
	w.ask([]chat.Message{seen(chat.User, a, a)}, nil)
	w.gateway.config.Memory = w.gateway.kept.Load() + int64(b.Size)
	_, p = w.session.Ask(t.Context(), request([]chat.Message{seen(chat.User, b)}, nil), Caller{})
	if p == nil || p.Class != wire.Limited || p.Retry == 0 {
		t.Errorf("beyond what all sessions may keep: %+v", p)
	}
	large := *a
	large.Digest, large.Size = "sha256:large", maxKept
	_, p = w.session.Ask(t.Context(), request([]chat.Message{seen(chat.User, &large)}, nil), Caller{})
	if p == nil || p.Class != wire.Bad {
		t.Errorf("beyond what a session may keep: %+v", p)
	}
}
