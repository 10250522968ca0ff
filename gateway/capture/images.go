// The images of a session: their bytes, by digest. In a gateway with a folder each is a file beside the journal, written before
// the journal names it.

package capture

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molt/chat"
	"molt/gateway/wire"
	"molt/internal/atomicfile"
	"molt/traj"
)

// show keeps the images of messages. It takes the lock.
func (s *Session) show(items []*chat.Item) *wire.Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range items {
		for _, image := range chat.Images(item.Message) {
			if s.images[image.Digest] != nil {
				continue
			}
			if s.closed {
				return &wire.Problem{Class: wire.Missing, Message: errClosed.Error()}
			}
			if p := s.crowded(image.Size); p != nil {
				return p
			}
			if err := s.album().write(image); err != nil {
				return &wire.Problem{Class: wire.Broken, Message: fmt.Sprintf("keeping an image: %v", err)}
			}
			s.images[image.Digest] = image
			s.keep(image.Size)
		}
	}
	return nil
}

// reshow keeps the images of a message that a journal names. The caller holds the lock, or nobody else has the session.
func (s *Session) reshow(m chat.Message) error {
	for _, named := range chat.Images(m) {
		if s.images[named.Digest] != nil {
			continue
		}
		image, err := s.album().read(named.Digest)
		if err != nil {
			return err
		}
		s.images[image.Digest] = image
		s.kept += image.Size
	}
	return nil
}

// pictures counts the images of messages.
func pictures(items []*chat.Item) int {
	n := 0
	for _, item := range items {
		for _, p := range item.Message.Parts {
			n += int(one(p.Image != nil))
		}
	}
	return n
}

// placed are the images that the ids of a raw completion show from an index on.
func placed(r *wire.Request, from int) (shown []traj.Image) {
	for i, m := range chat.Images(messages(r.Items)...) {
		if at := r.Places[i]; at >= from {
			shown = append(shown, traj.Image{At: at - from, Digest: m.Digest, Media: m.Media})
		}
	}
	return shown
}

// Image returns an image that the session was shown, by its digest.
func (s *Session) Image(digest string) (*chat.Image, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	image, ok := s.images[digest]
	return image, ok
}

// shownImages returns all images, by digest. The caller holds the lock.
func (s *Session) shownImages() []chat.Image {
	var all []chat.Image
	for _, digest := range slices.Sorted(maps.Keys(s.images)) {
		all = append(all, *s.images[digest])
	}
	return all
}

// develop gives images their bytes. The caller holds the lock.
func (s *Session) develop(shown []traj.Image) {
	for i := range shown {
		if image := s.images[shown[i].Digest]; image != nil {
			shown[i].Data = image.Data()
		}
	}
}

// album is the folder with the files of a session's images; "" writes nothing.
type album string

func (s *Session) album() album {
	if s.gateway.config.Folder == "" {
		return ""
	}
	return album(filepath.Join(s.gateway.config.Folder, s.ID+".images"))
}

func (a album) path(digest string) string {
	return filepath.Join(string(a), filepath.Base(strings.TrimPrefix(digest, "sha256:")))
}

func (a album) write(image *chat.Image) error {
	if a == "" {
		return nil
	}
	err := os.Mkdir(string(a), 0o700)
	if err == nil {
		err = atomicfile.SyncDir(filepath.Dir(string(a)))
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return atomicfile.Write(a.path(image.Digest), image.Data())
}

func (a album) read(digest string) (*chat.Image, error) {
	data, err := os.ReadFile(a.path(digest))
	if err != nil {
		return nil, fmt.Errorf("image %.80q: %w", digest, err)
	}
	image, err := chat.NewImage(data)
	if err != nil || image.Digest != digest {
		return nil, fmt.Errorf("the file of image %.80q holds something else", digest)
	}
	return image, nil
}

func (a album) remove() error {
	if a == "" {
		return nil
	}
	return os.RemoveAll(string(a))
}
