// A server that speaks the hub's HTTP: the API's revision and tree, resolve with redirects to another host for large files,
// checksums as ETags, ranges, and every fault that a test asks for.

package hub

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// large is the length from which a file is kept elsewhere, under its SHA-256.
const large = 1000

// fakeHub serves one model, org/name.
type fakeHub struct {
	*httptest.Server
	cdn *httptest.Server // where large files lie

	mu       sync.Mutex // guards what follows
	files    map[string][]byte
	tree     []any                                                    // further entries of the tree
	sha      string                                                   // of the revision
	token    string                                                   // needed when not ""
	pageSize int                                                      // entries of one page of the tree
	fault    func(w http.ResponseWriter, r *http.Request, n int) bool // may answer the n-th request for a path (from 1) in our place
	ranges   bool                                                     // whether ranges are understood
	requests []string                                                 // method, host and path, "+token" when it was sent
	counts   map[string]int
}

func newFakeHub(t *testing.T, files map[string]string) *fakeHub {
	h := &fakeHub{files: make(map[string][]byte), sha: commit, pageSize: 3, ranges: true, counts: make(map[string]int)}
	for name, text := range files {
		h.files[name] = []byte(text)
	}
	h.Server = httptest.NewServer(h.observed("hub", http.HandlerFunc(h.serve)))
	h.cdn = httptest.NewServer(h.observed("cdn", http.HandlerFunc(h.serveLarge)))
	if t != nil {
		t.Cleanup(h.Close)
		t.Cleanup(h.cdn.Close)
	}
	return h
}

// observed notes the request and lets the fault answer first.
func (h *fakeHub) observed(host string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		line := host + " " + r.URL.Path
		if auth := r.Header.Get("Authorization"); auth != "" {
			line += "+" + auth
		}
		if from := r.Header.Get("Range"); from != "" {
			line += " " + from
		}
		h.requests = append(h.requests, line)
		h.counts[r.URL.Path]++
		n, fault := h.counts[r.URL.Path], h.fault
		h.mu.Unlock()
		if fault == nil || !fault(w, r, n) {
			next.ServeHTTP(w, r)
		}
	})
}

func (h *fakeHub) sum(name string) string {
	data := h.files[name]
	if len(data) >= large {
		s := sha256.Sum256(data)
		return hex.EncodeToString(s[:])
	}
	s := sha1.Sum(append([]byte(fmt.Sprintf("blob %d\x00", len(data))), data...))
	return hex.EncodeToString(s[:])
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Error-Code", code)
	http.Error(w, code, status)
}

func (h *fakeHub) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.Header().Set("X-Repo-Commit", h.sha)
	if h.token != "" && r.Header.Get("Authorization") != "Bearer "+h.token {
		refuse(w, http.StatusUnauthorized, "GatedRepo")
		return
	}
	path := r.URL.Path
	switch api, isAPI := strings.CutPrefix(path, "/api/models/org/name"); {
	case isAPI && (api == "" || api == "/revision/main" || api == "/revision/refs/pr/1" || api == "/revision/"+h.sha):
		write(w, map[string]any{"_id": "1", "id": "org/name", "sha": h.sha, "siblings": []any{}, "private": false})
	case strings.HasPrefix(api, "/revision/"):
		refuse(w, http.StatusNotFound, "RevisionNotFound")
	case api == "/tree/"+h.sha || api == "/tree/main":
		h.serveTree(w, r)
	case strings.HasPrefix(path, "/org/name/resolve/"+h.sha+"/") || strings.HasPrefix(path, "/org/name/resolve/main/"):
		h.serveFile(w, r, path[strings.LastIndexByte(path, '/')+1:])
	default:
		refuse(w, http.StatusNotFound, "RepoNotFound")
	}
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.MarshalWrite(w, v); err != nil {
		panic(err)
	}
}

// serveTree answers in pages.
func (h *fakeHub) serveTree(w http.ResponseWriter, r *http.Request) {
	var names []string
	for name := range h.files {
		names = append(names, name)
	}
	slices.Sort(names)
	entries := slices.Clone(h.tree)
	for _, name := range names {
		e := map[string]any{"type": "file", "path": name, "size": len(h.files[name]), "oid": h.sum(name)}
		if len(h.files[name]) >= large {
			e["oid"] = strings.Repeat("ab", 20)
			e["lfs"] = map[string]any{"oid": h.sum(name), "size": len(h.files[name]), "pointerSize": 134}
		}
		entries = append(entries, e)
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	to := min(from+h.pageSize, len(entries))
	if to < len(entries) {
		next := *r.URL
		q := next.Query()
		q.Set("cursor", strconv.Itoa(to))
		next.RawQuery = q.Encode()
		w.Header().Set("Link", fmt.Sprintf(`<%s%s>; rel="next"`, h.URL, next.RequestURI()))
	}
	write(w, entries[from:to])
}

func (h *fakeHub) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	data, ok := h.files[name]
	if !ok {
		refuse(w, http.StatusNotFound, "EntryNotFound")
		return
	}
	if len(data) >= large {
		w.Header().Set("X-Linked-Etag", `"`+h.sum(name)+`"`)
		w.Header().Set("X-Linked-Size", strconv.Itoa(len(data)))
		http.Redirect(w, r, h.cdn.URL+"/"+h.sum(name)+"?Signature="+url.QueryEscape("a/b=="), http.StatusFound)
		return
	}
	w.Header().Set("ETag", `"`+h.sum(name)+`"`)
	h.send(w, r, data)
}

func (h *fakeHub) serveLarge(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, data := range h.files {
		if r.URL.Path == "/"+h.sum(name) {
			h.send(w, r, data)
			return
		}
	}
	http.NotFound(w, r)
}

func (h *fakeHub) send(w http.ResponseWriter, r *http.Request, data []byte) {
	from := 0
	if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); n == 1 && h.ranges {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
		w.Header().Set("Content-Length", strconv.Itoa(len(data)-from))
		w.WriteHeader(http.StatusPartialContent)
	} else {
		from = 0
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(data[from:])
	}
}

// asked lists the requests so far.
func (h *fakeHub) asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}
