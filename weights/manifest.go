// The manifest of a folder that we wrote: length and SHA-256 of every file and of every tensor. It carries its own
// checksum, so that any flipped bit in the folder is found before the folder is used.

package weights

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

const (
	manifestName   = "molt-manifest.json"
	manifestFormat = 1
	maxManifest    = 64 << 20 // bytes
)

// Manifest says what a folder holds.
type Manifest struct {
	Format      int            `json:"format"`      // 1
	Step        int64          `json:"step"`        // optimizer step that made the weights
	Files       []FileDigest   `json:"files"`       // every file but the manifest
	Tensors     []TensorDigest `json:"tensors"`     // in the order of the file
	Fingerprint string         `json:"fingerprint"` // Fingerprint of the tensors
}

// FileDigest is the length and checksum of one file.
type FileDigest struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func (m Manifest) file(name string) (FileDigest, bool) {
	i := slices.IndexFunc(m.Files, func(f FileDigest) bool { return f.Name == name })
	if i < 0 {
		return FileDigest{}, false
	}
	return m.Files[i], true
}

// sealed is the manifest as it lies on disk. The checksum covers the bytes of the manifest inside.
type sealed struct {
	Manifest jsontext.Value `json:"manifest"`
	SHA256   string         `json:"sha256"`
}

func (m Manifest) marshal() ([]byte, error) {
	inner, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sealed{inner, hexSum(inner)})
}

func parseManifest(data []byte) (Manifest, error) {
	var s sealed
	if err := json.Unmarshal(data, &s, json.RejectUnknownMembers(true)); err != nil {
		return Manifest{}, shorten(err)
	}
	if hexSum(s.Manifest) != s.SHA256 {
		return Manifest{}, errors.New("does not match its own checksum; the file is damaged")
	}
	var m Manifest
	if err := json.Unmarshal(s.Manifest, &m, json.RejectUnknownMembers(true)); err != nil {
		return Manifest{}, shorten(err)
	}
	if m.Format != manifestFormat {
		return Manifest{}, fmt.Errorf("format %d is not supported (%d is)", m.Format, manifestFormat)
	}
	return m, nil
}

// readManifest returns nil when the folder has none.
func readManifest(root *os.Root) (*Manifest, error) {
	data, err := readSmall(root, manifestName, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	return &m, nil
}

// text reads and verifies a file, nil when it is absent.
func (m *Manifest) text(root *os.Root, name string, limit int64) ([]byte, error) {
	data, err := readSmall(root, name, limit)
	switch {
	case err == nil:
		return data, m.verify(name, data)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if m != nil {
		if _, listed := m.file(name); listed {
			return nil, fmt.Errorf("%s: missing, although %s lists it", name, manifestName)
		}
	}
	return nil, nil
}

// verify compares the contents of a file with the manifest. A file that the manifest does not name passes.
func (m *Manifest) verify(name string, data []byte) error {
	return m.compare(name, int64(len(data)), func() (string, error) { return hexSum(data), nil })
}

func (m *Manifest) compare(name string, bytes int64, hash func() (string, error)) error {
	if m == nil {
		return nil
	}
	want, listed := m.file(name)
	if !listed {
		return nil
	}
	if bytes != want.Bytes {
		return fmt.Errorf("%s: has %d bytes but %s says %d; the file is damaged or was changed", name, bytes, manifestName, want.Bytes)
	}
	got, err := hash()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if got != want.SHA256 {
		return fmt.Errorf("%s: does not match its checksum in %s; the file is damaged, or was changed and the manifest should be deleted", name, manifestName)
	}
	return nil
}

// verify compares the file with the manifest, a piece at a time: what has been hashed need not stay in memory.
func (f *File) verify(m *Manifest) error {
	return m.compare(f.name, int64(len(f.bytes)), func() (string, error) {
		const piece = 8 << 20
		h := sha256.New()
		err := guard(func() error {
			for from := 0; from < len(f.bytes); from += piece {
				to := min(from+piece, len(f.bytes))
				h.Write(f.bytes[from:to])
				release(f.bytes, from, to)
			}
			return nil
		})
		return sum(h), err
	})
}

func hexSum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// readSmall reads a whole file of a folder, at most limit bytes. Its error names the file.
func readSmall(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := openRegular(root, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cause(err))
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: more than %d bytes", name, limit)
	}
	return data, nil
}
