// The content of a message as it is read: text and images, in their order.

package wire

import (
	"fmt"
	"slices"

	"molt/chat"
)

// Pieces collects the parts of one message's content.
type Pieces struct{ parts []chat.Part }

// Text adds text; none adds nothing.
func (p *Pieces) Text(s string) {
	if s != "" {
		p.parts = append(p.parts, chat.Part{Text: s})
	}
}

// Any reports whether there is content.
func (p *Pieces) Any() bool { return len(p.parts) > 0 }

// URL adds the image that the URL in a field holds.
func (p *Pieces) URL(f *Fields, name string) {
	image, err := chat.DataURL(f.Need(name))
	p.image(f, name, image, err)
}

// Base64 adds the image whose base64 is in a field, and whose type another names.
func (p *Pieces) Base64(f *Fields, name, media string) {
	image, err := chat.Base64Image(f.Need(name))
	if want := f.Need(media); err == nil && image.Media != want {
		err = fmt.Errorf("is %s, although %s says %.40q", image.Media, media, want)
	}
	p.image(f, name, image, err)
}

func (p *Pieces) image(f *Fields, name string, image *chat.Image, err error) {
	if err != nil {
		f.fail(f.At(name), "%v", err)
		return
	}
	p.parts = append(p.parts, chat.Part{Image: image})
}

// Into puts the content into a message. Only users and tools show images.
func (p *Pieces) Into(m *chat.Message, param string) *Problem {
	m.Put(p.parts...)
	if m.HasImages() && m.Role != chat.User && m.Role != chat.Tool {
		return Badf(param, "shows an image in the role %s; only a user and a tool show images", m.Role)
	}
	return nil
}

// Add appends what a span of the conversation became to the request.
func (r *Request) Add(items ...*chat.Item) *Problem {
	if len(r.Items)+len(items) > MaxItems {
		return Badf("", "more than %d messages", MaxItems)
	}
	for _, it := range items {
		r.images += len(chat.Images(it.Message))
	}
	if r.images > MaxImages {
		return Badf("", "shows more than %d images", MaxImages)
	}
	r.Items = append(r.Items, items...)
	return nil
}

// HasImages reports whether any message shows more than text.
func (r *Request) HasImages() bool {
	return slices.ContainsFunc(r.Items, func(it *chat.Item) bool { return it.Message.HasImages() })
}
