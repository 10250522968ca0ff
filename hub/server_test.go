// A server that speaks the hub's HTTP: the API's revision and tree, resolve with redirects to another host for large files,
// checksums as ETags, ranges, and every fault that a test asks for.

package hub

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"fmt"
	"maps"
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
	long     string                                                   // checksum of the one file that is so long that it is computed once; "" computes
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
	if len(data) >= 1<<20 && h.long != "" {
		return h.long
	}
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
	case strings.HasPrefix(api, "/tree/"):
		_, folder, _ := strings.Cut(strings.TrimPrefix(api, "/tree/"), "/")
		h.serveTree(w, r, folder)
	case strings.HasPrefix(path, "/org/name/resolve/"):
		_, file, _ := strings.Cut(strings.TrimPrefix(path, "/org/name/resolve/"), "/")
		h.serveFile(w, r, file)
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

// serveTree answers in pages what a folder holds, with all below it when the request says recursive.
func (h *fakeHub) serveTree(w http.ResponseWriter, r *http.Request, folder string) {
	entries := slices.Clone(h.tree)
	if folder != "" {
		entries, folder = nil, folder+"/"
	}
	seen := make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(h.files)) {
		inside, ok := strings.CutPrefix(name, folder)
		if !ok {
			continue
		}
		if sub, _, deeper := strings.Cut(inside, "/"); deeper {
			if sub = folder + sub; !seen[sub] {
				entries = append(entries, map[string]any{"type": "directory", "path": sub, "size": 0, "oid": strings.Repeat("cd", 20)})
			}
			if seen[sub] = true; !r.URL.Query().Has("recursive") {
				continue
			}
		}
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
	from, last := 0, len(data)-1
	if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &last); n > 0 && h.ranges {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, last, len(data)))
		w.Header().Set("Content-Length", strconv.Itoa(last+1-from))
		w.WriteHeader(http.StatusPartialContent)
	} else {
		from, last = 0, len(data)-1
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(data[from : last+1])
	}
}

// asked lists the requests so far.
func (h *fakeHub) asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}
