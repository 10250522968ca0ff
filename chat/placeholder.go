// Placeholders: what a template writes for an image. An engine finds the image's place by it, so it must be a control token,
// written once for each image and for nothing else. A template without one cannot show images: given a list of parts, it fails,
// drops them or writes them out as code, and none of that may pass for a prompt.

package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoImages marks a conversation with an image that the chat template does not show.
var ErrNoImages = errors.New("the chat template shows no image there")

// findPlaceholder looks for the first control string that is written for an image beside two texts, and not without it.
func (r *Renderer) findPlaceholder() {
	before, behind := Part{Text: string(firstPrivate)}, Part{Text: string(mark)}
	write := func(parts ...Part) string {
		m := Message{Role: User, Content: textOf(parts), Parts: parts}
		text, err := r.template.Render(Conversation{Messages: []Message{m}}, true)
		if err != nil || strings.Count(text, before.Text) != 1 || strings.Count(text, behind.Text) != 1 {
			return ""
		}
		return text
	}
	with, without := write(before, Part{Image: &Image{}}, behind), write(before, behind)
	if with == "" || without == "" {
		return
	}
	for id, c := range r.controls.byID {
		if at := strings.Index(with, c.text); at >= 0 && strings.Count(with, c.text) == 1 && !strings.Contains(without, c.text) && r.isControlAt(with, at, c) &&
			(r.image == "" || at < strings.Index(with, r.image)) {
			r.image, r.imageID = c.text, id
		}
	}
}

// isControlAt reports whether a control string stands there by itself and not as the beginning of a longer one.
func (r *Renderer) isControlAt(text string, at int, c control) bool {
	for _, longer := range r.controls.byFirst[firstByte(text[at:])] {
		if strings.HasPrefix(text[at:], longer.text) {
			return longer == c
		}
	}
	return false
}

// ShowsImages reports whether the template has a placeholder for images.
func (r *Renderer) ShowsImages() bool { return r.image != "" }

// sees refuses messages with images where the template is for text only.
func (r *Renderer) sees(messages []Message) error {
	if r.image == "" && slices.ContainsFunc(messages, func(m Message) bool { return m.HasImages() }) {
		return fmt.Errorf("chat: a message shows an image, and the template is for text only: %w", ErrNoImages)
	}
	return nil
}

// Place finds the placeholders of the images of messages among ids that show no others.
func (r *Renderer) Place(ids []int32, messages []Message) ([]int, error) {
	if r.image == "" {
		return nil, r.sees(messages)
	}
	images := Images(messages...)
	var places []int
	for i, id := range ids {
		if id == r.imageID {
			places = append(places, i)
		}
	}
	if len(places) != len(images) {
		return nil, fmt.Errorf("chat: %d images came out as %d placeholders %s: %w", len(images), len(places), r.image, ErrNoImages)
	}
	return places, nil
}

// seenProbes are messages with images, for templates that show them.
func (r *Renderer) seenProbes() []Message {
	if r.image == "" {
		return nil
	}
	parts := []Part{{Text: "see"}, {Image: &Image{}}}
	result := NewMessage(Tool, parts...)
	result.ToolCallID, result.Name = probeCalls[0].ID, "f"
	return slices.Clip([]Message{NewMessage(User, parts...), result})
}
