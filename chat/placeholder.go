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

// findPlaceholder looks for the control string between two texts that have an image between them.
func (r *Renderer) findPlaceholder() {
	before, behind := string(firstPrivate), string(mark)
	seen := NewMessage(User, Part{Text: before}, Part{Image: &Image{}}, Part{Text: behind})
	text, err := r.template.Render(Conversation{Messages: []Message{seen}}, true)
	if err != nil || strings.Count(text, before) != 1 || strings.Count(text, behind) != 1 {
		return
	}
	_, text, _ = strings.Cut(text, before)
	between, _, _ := strings.Cut(text, behind)
	for id, c := range r.controls.byID {
		if at := strings.Index(between, c.text); at >= 0 && strings.Count(text, c.text) == 1 && r.isControlAt(between, at, c) &&
			(r.image == "" || at < strings.Index(between, r.image)) {
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
