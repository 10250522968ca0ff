// The name of a model on the hub: "org/name", or "name" for the oldest ones, and a revision: a branch, tag or commit.

package hub

import (
	"fmt"
	"net/url"
	"strings"
)

// Name is a parsed name.
type Name struct {
	ID       string // "org/name"
	Revision string // "main" unless given
}

// ParseName reads "org/name" or "org/name@revision".
func ParseName(text string) (Name, error) {
	id, revision, given := strings.Cut(text, "@")
	if !given {
		revision = "main"
	}
	parts := strings.Split(id, "/")
	if len(parts) > 2 {
		return Name{}, fmt.Errorf("hub: %.100q is no model name: it has more than one slash; write org/name or org/name@revision", text)
	}
	for _, part := range parts {
		if err := checkPart(part); err != nil {
			return Name{}, fmt.Errorf("hub: %.100q is no model name: %w; write org/name or org/name@revision", text, err)
		}
	}
	if err := checkRevision(revision); err != nil {
		return Name{}, fmt.Errorf("hub: %.100q: %w", text, err)
	}
	return Name{id, revision}, nil
}

func checkPart(part string) error {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
	}
	switch {
	case part == "":
		return fmt.Errorf("a part is empty")
	case len(part) > 96:
		return fmt.Errorf("a part has %d characters; at most 96", len(part))
	case strings.ContainsFunc(part, func(r rune) bool { return !plain(r) }):
		return fmt.Errorf("%q has characters other than letters, digits, -, _ and .", part)
	case strings.Contains(part, "--") || strings.Contains(part, ".."):
		return fmt.Errorf("%q has -- or .. in it", part)
	case strings.ContainsAny(part[:1]+part[len(part)-1:], "-."):
		return fmt.Errorf("%q begins or ends with - or .", part)
	}
	return nil
}

// checkRevision bounds what becomes a path of the cache and a part of a URL.
func checkRevision(r string) error {
	bad := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`\:*?"<>|`, r) }
	if r == "" || len(r) > 200 || strings.ContainsFunc(r, bad) || strings.Contains(r, "..") {
		return fmt.Errorf("revision %.60q must be a branch, a tag or a commit", r)
	}
	for part := range strings.SplitSeq(r, "/") {
		if part == "" || strings.HasPrefix(part, ".") {
			return fmt.Errorf("revision %.60q must be a branch, a tag or a commit", r)
		}
	}
	return nil
}

// isCommit reports whether r names one state forever.
func isCommit(r string) bool { return len(r) == 40 && isHex(r) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// String is the name as a user writes it.
func (n Name) String() string {
	if n.Revision == "main" {
		return n.ID
	}
	return n.ID + "@" + n.Revision
}

// folder is the name of the model's folder in the cache.
func (n Name) folder() string { return "models--" + strings.ReplaceAll(n.ID, "/", "--") }

func (n Name) path() string {
	parts := strings.Split(n.ID, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}
