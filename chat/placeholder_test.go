package chat

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"molt/tokenizer"
)

// seeing is a tokenizer with the control strings of templates that show images.
var seeing = sync.OnceValue(func() *tokenizer.Tokenizer {
	specials := append(BuiltinSpecials(), "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>", "<image>", "<end_of_utterance>", "[IMG]", "[INST]", "[/INST]", "</s>", "<s>")
	t, err := tokenizer.Train(slices.Values([]string{"user assistant What is on it?"}), 300, specials, tokenizer.TrainOptions{Visible: BuiltinMarkup()})
	if err != nil {
		panic(err)
	}
	return t
})

func seeingRenderer(t testing.TB, name string, kwargs ...Member) *Renderer {
	t.Helper()
	source, err := os.ReadFile("testdata/templates/" + name + ".jinja")
	if err != nil {
		t.Fatal(err)
	}
	return seeingSource(t, string(source), kwargs...)
}

func seeingSource(t testing.TB, source string, kwargs ...Member) *Renderer {
	t.Helper()
	tmpl, err := NewJinja(source, JinjaOptions{BOS: "<s>", EOS: "</s>", Kwargs: kwargs})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRenderer(tmpl, seeing())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func texts(s string) Part { return Part{Text: s} }

// TestImagesBecomePlaceholders: each image is one placeholder where it stood, and the same string in a text is none.
func TestImagesBecomePlaceholders(t *testing.T) {
	picture := Part{Image: testImage(t)}
	for name, placeholder := range map[string]string{"qwen2.5-vl": "<|vision_start|>", "qwen3-vl": "<|vision_start|>", "smolvlm": "<image>", "pixtral": "[IMG]"} {
		r := seeingRenderer(t, name)
		o, err := r.Prompt(Conversation{Messages: []Message{NewMessage(User, picture, texts("a"+placeholder+"b"), picture)}})
		if err != nil || !r.ShowsImages() || len(o.Images) != 2 || o.Masked != 1 {
			t.Errorf("%s: %+v, %v", name, o, err)
			continue
		}
		for _, at := range o.Images {
			if got := seeing().Decode(o.IDs[at : at+1]); got != placeholder {
				t.Errorf("%s: id %d is %q, want %q", name, at, got, placeholder)
			}
		}
		if between := seeing().Decode(o.IDs[o.Images[0]+1 : o.Images[1]]); !strings.Contains(between, "a"+placeholder+"b") {
			t.Errorf("%s: between the images stands %q", name, between)
		}
		turn := Message{Role: Assistant, Content: "c"}
		first := []Message{NewMessage(User, picture, texts("d"))}
		b, err := r.Bridge(Conversation{Messages: first}, turn, []Message{NewMessage(User, texts("e"), picture)}, -1)
		if err != nil || len(b.Images) != 1 || seeing().Decode(b.IDs[b.Images[0]:b.Images[0]+1]) != placeholder {
			t.Errorf("%s: bridge %+v, %v", name, b, err)
		}
	}
}

// TestImagesBeforeTheText: some templates show the images of a message first, wherever they stood (LLaVA).
func TestImagesBeforeTheText(t *testing.T) {
	r := seeingSource(t, "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% for p in m.content if p.type == 'image' %}<image>\n{% endfor %}{% for p in m.content if p.type == 'text' %}{{ p.text }}{% endfor %}<|im_end|>{% endfor %}")
	picture := Part{Image: testImage(t)}
	o, err := r.Prompt(Conversation{Messages: []Message{NewMessage(User, texts("a"), picture, texts("b"), picture)}})
	if text := seeing().Decode(o.IDs); err != nil || text != "<|im_start|>user\n<image>\n<image>\nab<|im_end|>" || len(o.Images) != 2 {
		t.Errorf("%q, %v, %v", text, o.Images, err)
	}
}

// TestCountedImagesAreNotLocal: where images are numbered, a bridge depends on all images before it.
func TestCountedImagesAreNotLocal(t *testing.T) {
	counts := Member{"add_vision_id", Bool(true)}
	if plain, counted := seeingRenderer(t, "qwen2.5-vl"), seeingRenderer(t, "qwen2.5-vl", counts); !plain.Local() || counted.Local() {
		t.Errorf("local: plain %v, counted %v", plain.Local(), counted.Local())
	}
	picture := Part{Image: testImage(t)}
	r := seeingRenderer(t, "qwen2.5-vl", counts)
	o, err := r.Bridge(Conversation{Messages: []Message{NewMessage(User, picture, picture)}}, Message{Role: Assistant, Content: "c"}, []Message{NewMessage(User, picture)}, -1)
	if text := seeing().Decode(o.IDs); err != nil || !strings.Contains(text, "Picture 3: ") || len(o.Images) != 1 {
		t.Errorf("%q, %v", text, err)
	}
}

// TestImagesAreNeverDropped: a template that does not show an image is an error.
func TestImagesAreNeverDropped(t *testing.T) {
	picture := Part{Image: testImage(t)}
	seen := Conversation{Messages: []Message{NewMessage(User, texts("a"), picture)}}
	turn := Message{Role: Assistant, Content: "b"}
	const body = "{{ '<|im_start|>' + m.role + '\n' }}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}SHOWN{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
	const all = "{% for m in messages %}" + body + "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
	drops := seeingSource(t, strings.Replace(all, "SHOWN", "", 1))
	once := seeingSource(t, strings.Replace(all, "SHOWN", "{% elif loop.index == 2 and not shown %}{{ '<image>' }}", 1)) // the second part alone
	asText := seeingSource(t, strings.Replace(all, "SHOWN", "{% else %}[picture]", 1))
	for name, r := range map[string]*Renderer{"text only": renderer(t, Builtin()), "drops": drops, "as text": asText} {
		if r.ShowsImages() {
			t.Errorf("%s: shows images", name)
		}
		if o, err := r.Prompt(seen); !errors.Is(err, ErrNoImages) {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
		if o, err := r.Bridge(Conversation{}, turn, seen.Messages, -1); !errors.Is(err, ErrNoImages) {
			t.Errorf("%s: bridge %+v, %v", name, o, err)
		}
	}
	if _, err := once.Prompt(seen); err != nil {
		t.Error(err)
	}
	first := []Message{NewMessage(User, picture, texts("a"))}
	if o, err := once.Prompt(Conversation{Messages: first}); !errors.Is(err, ErrNoImages) || !strings.Contains(err.Error(), "1 images came out as 0 placeholders <image>") {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := once.Bridge(Conversation{}, turn, first, -1); !errors.Is(err, ErrNoImages) {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := seeingRenderer(t, "qwen3-vl").Layout(Conversation{Messages: append(seen.Messages, turn)}); err == nil || !strings.Contains(err.Error(), "shows images") {
		t.Errorf("layout: %v", err)
	}
}
