// Arguments of calls and images, as clients send them back.

package wire

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"molt/chat"
)

// Arguments reads the JSON text of a call's arguments. No text is no arguments.
func Arguments(text, param string) (chat.Value, *Problem) {
	if strings.TrimSpace(text) == "" {
		return chat.Object(), nil
	}
	v, err := chat.ParseValue([]byte(text))
	if err != nil {
		return v, Badf(param, "%v", err)
	}
	if v.Kind() != chat.KindObject {
		return v, Badf(param, "is of type %s; want an object", v.Kind())
	}
	return v, nil
}

// MaxImage is the most bytes of one image.
const MaxImage = 32 << 20

// Image reads the base64 text of an image and returns its digest.
func Image(data, param string) (digest string, image []byte, problem *Problem) {
	if len(data) > MaxImage/3*4+4 {
		return "", nil, Badf(param, "an image of more than %d bytes", MaxImage)
	}
	image, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(image) == 0 {
		return "", nil, Badf(param, "is no base64 image")
	}
	sum := sha256.Sum256(image)
	return "sha256:" + hex.EncodeToString(sum[:]), image, nil
}

// DataURL reads data:image/…;base64,…. Any other URL is refused: nothing is fetched on behalf of a client.
func DataURL(url, param string) (digest string, image []byte, problem *Problem) {
	head, data, ok := strings.Cut(url, ",")
	if !ok || !strings.HasPrefix(head, "data:image/") || !strings.HasSuffix(head, ";base64") {
		return "", nil, Badf(param, "is %.60q; images are not fetched: send a data: URL in base64", url)
	}
	return Image(data, param)
}

// Pieces collects the parts of one message's content.
type Pieces struct {
	texts  []string
	parts  []chat.Part
	images map[string][]byte
}

// Text adds text; none adds nothing.
func (p *Pieces) Text(s string) {
	if s != "" {
		p.texts = append(p.texts, s)
		p.parts = append(p.parts, chat.Part{Text: s})
	}
}

// Any reports whether there is content.
func (p *Pieces) Any() bool { return len(p.parts) > 0 }

// Image adds an image.
func (p *Pieces) Image(digest string, data []byte) {
	if p.images == nil {
		p.images = map[string][]byte{}
	}
	p.images[digest] = data
	p.parts = append(p.parts, chat.Part{Image: digest})
}

// Into puts the content into a message.
func (p *Pieces) Into(m *chat.Message) {
	m.Content = chat.JoinText(p.texts)
	if len(p.images) > 0 {
		m.Parts = p.parts
	}
}

// Images returns the bytes of the images by digest, nil without.
func (p *Pieces) Images() map[string][]byte { return p.images }

// Parsed is what one span of a conversation became.
type Parsed struct {
	Items  []*chat.Item
	Images map[string][]byte
}

// Add appends what a span became to the request.
func (r *Request) Add(p Parsed) *Problem {
	if len(r.Items)+len(p.Items) > MaxItems {
		return Badf("", "more than %d messages", MaxItems)
	}
	r.Items = append(r.Items, p.Items...)
	for digest, data := range p.Images {
		if r.Images == nil {
			r.Images = map[string][]byte{}
		}
		r.Images[digest] = data
	}
	return nil
}

// Offered is the specification of a tool as templates show it: a function, whatever the wire called it. Of the client's own
// spec the description and the schema are kept, and further keys such as strict are not: they say how to sample, not what
// the tool is.
func Offered(name, description string, spec chat.Value, schema string, free bool) chat.ToolSpec {
	parameters, ok := spec.Get(schema)
	switch {
	case free:
		text := chat.Object(chat.Member{Name: "type", Value: chat.String("string")})
		parameters = chat.Object(
			chat.Member{Name: "type", Value: chat.String("object")},
			chat.Member{Name: "properties", Value: chat.Object(chat.Member{Name: chat.FreeText, Value: text})},
			chat.Member{Name: "required", Value: chat.Array(chat.String(chat.FreeText))},
		)
	case !ok || parameters.Kind() != chat.KindObject:
		parameters = chat.Object(
			chat.Member{Name: "type", Value: chat.String("object")},
			chat.Member{Name: "properties", Value: chat.Object()},
		)
	}
	return chat.NewToolSpec(name, description, parameters)
}

// Written is the JSON text of a call's arguments, or the text of a tool that takes text.
func Written(c chat.ToolCall, free bool) string {
	if !free {
		return c.Arguments.String()
	}
	text, ok := c.Arguments.Get(chat.FreeText)
	if ok && text.Kind() == chat.KindString {
		return text.Text()
	}
	return c.Arguments.String()
}
