package chat

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

// encoded is an image of 3×2 pixels.
func encoded(t testing.TB, format string) []byte {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, 3, 2))
	var b bytes.Buffer
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, picture)
	case "jpeg":
		err = jpeg.Encode(&b, picture, nil)
	case "gif":
		err = gif.Encode(&b, picture, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func testImage(t testing.TB) *Image {
	t.Helper()
	m, err := NewImage(encoded(t, "png"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// webpOf is the beginning of a WebP file with a first chunk, as RFC 9649 lays it out.
func webpOf(chunk, body string) []byte {
	return []byte("RIFF\x30\x00\x00\x00WEBP" + chunk + "\x0a\x00\x00\x00" + body + "\x00\x00")
}

func TestImageFormats(t *testing.T) {
	for media, data := range map[string][]byte{
		"image/png": encoded(t, "png"), "image/jpeg": encoded(t, "jpeg"), "image/gif": encoded(t, "gif"),
		"image/webp": webpOf("VP8 ", "\x50\x01\x00\x9d\x01\x2a\x03\x40\x02\x00"), // the upper bits scale
	} {
		m, err := NewImage(data)
		if err != nil || m.Media != media || m.Width != 3 || m.Height != 2 || m.Size != len(data) || !bytes.Equal(m.Data(), data) {
			t.Errorf("%s: %+v, %v", media, m, err)
			continue
		}
		again, err := DataURL(m.DataURL())
		if err != nil || again.Digest != m.Digest || len(m.Digest) != len("sha256:")+64 {
			t.Errorf("%s as a URL: %v, %v", media, again, err)
		}
	}
	for name, data := range map[string][]byte{
		"lossless": webpOf("VP8L", "\x2f\x02\x40\x00\x00\x00\x00\x00\x00\x00"), // width-1 in 14 bits, then height-1
		"extended": webpOf("VP8X", "\x00\x00\x00\x00\x02\x00\x00\x01\x00\x00"),
	} {
		if m, err := NewImage(data); err != nil || m.Width != 3 || m.Height != 2 {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// bomb is a PNG that says it has 30,000×30,000 pixels.
const bomb = "iVBORw0KGgoAAAANSUhEUgAAdTAAAHUwCAAAAABDTKdm"

func TestImagesThatAreRefused(t *testing.T) {
	good := base64.StdEncoding.EncodeToString(encoded(t, "png"))
	for url, want := range map[string]string{
		"":                                    "images are not fetched",
		"http://169.254.169.254/latest":       "images are not fetched",
		"https://example.com/a.png":           "images are not fetched",
		"file:///etc/passwd":                  "images are not fetched",
		"data:text/html;base64," + good:       "images are not fetched",
		"data:image/svg+xml,<svg/>":           "images are not fetched",
		"data:image/svg+xml;base64,PHN2Zy8+":  "no image in PNG",
		"data:image/png;base64":               "images are not fetched",
		"data:image/png;base64,":              "no image in PNG",
		"data:image/png;base64,aGk=":          "no image in PNG",
		"data:image/png;base64,iVBORw0KGgo=":  "no image in PNG",
		"data:image/png;base64," + bomb:       "30000×30000 pixels",
		"data:image/png;base64, " + good:      "standard base64",
		"data:image/png;base64," + good + "A": "standard base64",
		"data:image/png;base64,_-8=":          "standard base64",
		"data:image/png;base64,iVBORw0KGgp":   "standard base64",
		"data:image/webp;base64,UklGRjAAAABXRUJQWFhYWAoAAAAAAAAAAAAAAAAAAAA=":                "the first chunk is not of an image",
		"data:image/png;base64," + strings.Repeat("A", MaxImageBytes/3*4+MaxImageBytes/32+1): "more than",
	} {
		if m, err := DataURL(url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, %v; want %q", url, m, err, want)
		}
	}
	for _, url := range []string{"data:image/png;base64," + good, "DATA:Image/PNG;name=a.png;BASE64," + good, "data:image/jpg;base64," + good[:20] + "\r\n" + good[20:] + "\n"} {
		if _, err := DataURL(url); err != nil {
			t.Errorf("%.60s: %v", url, err)
		}
	}
	if _, err := NewImage(make([]byte, MaxImageBytes+1)); err == nil || !strings.Contains(err.Error(), "the most is") {
		t.Errorf("a large one: %v", err)
	}
}

func FuzzImage(f *testing.F) {
	for _, format := range []string{"png", "jpeg", "gif"} {
		f.Add(encoded(f, format))
	}
	f.Add(webpOf("VP8X", "\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := NewImage(data)
		if err == nil && (m.Width < 1 || m.Height < 1 || m.Width*m.Height > MaxImagePixels || m.Size != len(data)) {
			t.Fatalf("%+v", m)
		}
	})
}

func TestMessagesOfParts(t *testing.T) {
	picture := testImage(t)
	m := NewMessage(User, Part{Text: "a"}, Part{}, Part{Image: picture}, Part{Text: "b"})
	if m.Content != "a\nb" || len(m.Parts) != 3 || !m.HasImages() || m.validate() != nil || len(Images(m, m)) != 2 {
		t.Errorf("%+v, %v", m, m.validate())
	}
	if text := NewMessage(System, Part{Text: "a"}, Part{Text: "b"}); text.Content != "a\nb" || text.Parts != nil || text.validate() != nil {
		t.Errorf("%+v", text)
	}
	other := NewMessage(User, Part{Text: "a"}, Part{Text: "b"}, Part{Image: picture})
	if same := NewMessage(User, Part{Text: "a"}, Part{Image: testImage(t)}, Part{Text: "b"}); !m.Equal(&same) || m.Equal(&other) || NewItem(m).Exact != NewItem(same).Exact {
		t.Error("parts are not compared by what they show")
	}
	for want, broken := range map[string]Message{
		"role assistant shows an image":  NewMessage(Assistant, Part{Image: picture}),
		"role system shows an image":     NewMessage(System, Part{Image: picture}),
		"part 0 is not one of":           {Role: User, Parts: []Part{{}, {Image: picture}}},
		"part 1 is not one of":           {Role: User, Parts: []Part{{Image: picture}, {Text: "a", Image: picture}}},
		"its parts are not its text":     {Role: User, Content: "a", Parts: []Part{{Text: "a"}}},
		"its parts are not its text and": {Role: User, Content: "b", Parts: []Part{{Text: "a"}, {Image: picture}}},
	} {
		if err := broken.validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", broken, err, want)
		}
	}
}
