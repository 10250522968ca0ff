// Images in messages. One is known by the digest of its encoded bytes, which are looked at no further than their header:
// what an image shows is for an engine to decode.

package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // the formats that NewImage reads
	_ "image/jpeg"
	_ "image/png"
	"strings"
)

// Bounds of one image. Pixels are what the header says: a small file may unfold to far more than it weighs.
const (
	MaxImageBytes  = 32 << 20
	MaxImagePixels = 1 << 26
)

// Image is an encoded image. It is immutable.
type Image struct {
	Digest string `json:"digest"`     // "sha256:" and the digest of the encoded bytes, in hexadecimal
	Media  string `json:"media_type"` // image/png, image/jpeg, image/gif or image/webp, as the bytes say
	Width  int    `json:"width"`      // pixels
	Height int    `json:"height"`
	Size   int    `json:"bytes"`
	data   []byte
}

// NewImage reads the header of an encoded image. It keeps the bytes.
func NewImage(data []byte) (*Image, error) {
	if len(data) > MaxImageBytes {
		return nil, fmt.Errorf("is an image of %d bytes; the most is %d", len(data), MaxImageBytes)
	}
	width, height, format, err := dimensions(data)
	if err != nil {
		return nil, fmt.Errorf("is no image in PNG, JPEG, GIF or WebP: %w", err)
	}
	if width < 1 || height < 1 || width > MaxImagePixels/height {
		return nil, fmt.Errorf("is an image of %d×%d pixels; the most is %d in all", width, height, MaxImagePixels)
	}
	sum := sha256.Sum256(data)
	return &Image{"sha256:" + hex.EncodeToString(sum[:]), "image/" + format, width, height, len(data), data}, nil
}

// Data returns the encoded bytes, nil where no more than the digest is known. They must not be changed.
func (m *Image) Data() []byte { return m.data }

// Base64Image reads an image in standard base64. Line breaks inside are skipped.
func Base64Image(text string) (*Image, error) {
	if len(text) > MaxImageBytes/3*4+MaxImageBytes/32 { // the slack is for line breaks
		return nil, fmt.Errorf("is an image of more than %d bytes", MaxImageBytes)
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("is not in standard base64 with padding")
	}
	return NewImage(data)
}

// DataURL reads data:image/…;base64,…. No other URL is read: nothing is fetched, from wherever it would be.
func DataURL(url string) (*Image, error) {
	head, data, ok := strings.Cut(url, ",")
	if head = strings.ToLower(head); !ok || !strings.HasPrefix(head, "data:image/") || !strings.HasSuffix(head, ";base64") {
		return nil, fmt.Errorf("is %.60q; images are not fetched: send a data:image/…;base64 URL", url)
	}
	return Base64Image(data)
}

// DataURL is the image as a URL that holds it; "" where no more than the digest is known.
func (m *Image) DataURL() string {
	if m.data == nil {
		return ""
	}
	return "data:" + m.Media + ";base64," + base64.StdEncoding.EncodeToString(m.data)
}

func dimensions(data []byte) (width, height int, format string, err error) {
	if len(data) >= 30 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP" {
		width, height, err = webp(data[12:30])
		return width, height, "webp", err
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	return config.Width, config.Height, format, err
}

// webp reads the first chunk of a WebP file (RFC 9649, sections 2.5 to 2.7).
func webp(chunk []byte) (width, height int, err error) {
	body := chunk[8:]
	switch string(chunk[:4]) {
	case "VP8 ":
		if body[3] != 0x9d || body[4] != 0x01 || body[5] != 0x2a {
			return 0, 0, errors.New("webp: no key frame")
		}
		return (int(body[6]) | int(body[7])<<8) & 0x3fff, (int(body[8]) | int(body[9])<<8) & 0x3fff, nil
	case "VP8L":
		if body[0] != 0x2f {
			return 0, 0, errors.New("webp: no signature")
		}
		bits := uint32(body[1]) | uint32(body[2])<<8 | uint32(body[3])<<16 | uint32(body[4])<<24
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, nil
	case "VP8X":
		return (int(body[4]) | int(body[5])<<8 | int(body[6])<<16) + 1, (int(body[7]) | int(body[8])<<8 | int(body[9])<<16) + 1, nil
	}
	return 0, 0, errors.New("webp: the first chunk is not of an image")
}
