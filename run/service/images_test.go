package service

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"molt/engine/enginetest"
	"molt/gateway/wire/wiretest"
)

const seen = `"messages": [{"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,` + wiretest.PNG + `"}}]}]`

// TestImages: an order shows an image, and its results say where, and have its bytes once.
func TestImages(t *testing.T) {
	folder := t.TempDir()
	keep := func(c *Config) { c.Folder = folder }
	id := ""
	t.Run("played", func(t *testing.T) {
		l := newLab(t, twice, keep)
		id = l.submit(`{` + seen + `, "n": 2}`)
		l.wait(id)
	})
	l := newLab(t, twice, keep) // a server that starts where the first has ended
	a := l.wait(id)
	data, err := base64.StdEncoding.DecodeString(wiretest.PNG)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range a.Results {
		if r.Outcome != "completed" || len(r.Images) != 1 || !bytes.Equal(r.Images[0].Data, data) || r.Images[0].Media != "image/png" {
			t.Fatalf("%s %s: %+v", r.Outcome, r.Detail, r.Images)
		}
		s := r.Segments[0]
		placeholder, _ := l.s.model.Tok.ID("<|image|>")
		if len(s.Images) != 1 || s.Images[0].Digest != r.Images[0].Digest || s.Tokens[s.Images[0].At] != placeholder {
			t.Errorf("%+v", s.Images)
		}
	}
	file := l.do("GET", "/rollouts/"+id+"/results?format=safetensors", "", 200)
	length := binary.LittleEndian.Uint64(file)
	var header map[string]json.RawMessage
	l.read(file[8:8+length], &header)
	var tensor struct {
		Dtype   string
		Offsets [2]int `json:"data_offsets"`
	}
	l.read(header["image."+a.Results[0].Images[0].Digest], &tensor)
	if got := file[8+int(length):][tensor.Offsets[0]:tensor.Offsets[1]]; tensor.Dtype != "U8" || !bytes.Equal(got, data) {
		t.Errorf("%+v: %x", tensor, got)
	}
	var meta struct{ Rollouts string }
	l.read(header["__metadata__"], &meta)
	if want := `"images":[[{"at":`; strings.Count(meta.Rollouts, want) != 2 {
		t.Errorf("%s; want %s", meta.Rollouts, want)
	}
}

// TestImagesAndAModelForText: an order that the engine cannot see is refused at once.
func TestImagesAndAModelForText(t *testing.T) {
	l := newLab(t, twice, nil)
	l.s.rollouts.agents.generator = enginetest.NewScript(enginetest.ScriptConfig{TextOnly: true})
	if body := string(l.do("POST", "/rollouts", `{`+seen+`}`, 400)); !strings.Contains(body, "text-only model") {
		t.Error(body)
	}
	if body := string(l.do("POST", "/rollouts", strings.Replace(`{`+seen+`}`, "data:image/png;base64,"+wiretest.PNG, "file:///etc/passwd", 1), 400)); !strings.Contains(body, "images are not fetched") {
		t.Error(body)
	}
}
