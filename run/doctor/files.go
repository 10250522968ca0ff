// Files: checksums where something says what they should be, and the licence.

package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// checksums says what vouches for the files of a model that could be opened: a manifest has been compared by then; a file of
// the Hugging Face cache is called by its SHA-256.
func checksums(path string) []Finding {
	if _, err := os.Stat(filepath.Join(path, manifestName)); err == nil {
		return []Finding{ok("files", "they match the checksums in %s", manifestName)}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return refusals("files", err)
	}
	checked := 0
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(path, e.Name()))
		sum := filepath.Base(target)
		if err != nil || len(sum) != 2*sha256.Size || strings.Trim(sum, "0123456789abcdef") != "" {
			continue // small files are called by git's sum
		}
		got, err := digest(filepath.Join(path, e.Name()))
		if err != nil {
			return refusals("files", err)
		}
		if got != sum {
			return []Finding{broken("files", fmt.Sprintf("%s does not match its checksum in the cache", e.Name()), "delete the file that the link points to, and download the model again")}
		}
		checked++
	}
	if checked > 0 {
		return []Finding{ok("files", "%d files match their checksums in the cache", checked)}
	}
	return []Finding{note("files", "sizes and headers fit; there are no checksums to compare with", "")}
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

const manifestName = "molt-manifest.json"

const longestCard = 1 << 20 // bytes that are read of a README.md

// licence looks in the front matter of README.md, then for a file of that name.
func licence(path string) Finding {
	if name := cardLicence(filepath.Join(path, "README.md")); name != "" {
		return ok("licence", "%s, says README.md", name)
	}
	for _, name := range []string{"LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING"} {
		if line := firstLine(filepath.Join(path, name)); line != "" {
			return ok("licence", "%s: %s", name, line)
		}
	}
	return note("licence", "nothing in the folder names one", "look where the model came from before you publish what was trained from it")
}

func cardLicence(path string) string {
	front, _, ended := strings.Cut(strings.TrimPrefix(start(path), "---\n"), "\n---")
	if !ended || !strings.HasPrefix(start(path), "---\n") {
		return ""
	}
	for line := range strings.Lines(front) {
		if value, found := strings.CutPrefix(line, "license:"); found {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

func firstLine(path string) string {
	for line := range strings.Lines(start(path)) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// start is the beginning of a text file, "" when it cannot be read.
func start(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, longestCard))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}
