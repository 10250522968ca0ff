package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	tensors = strings.Repeat("weights ", 4000) // large
	model   = map[string]string{
		"config.json": `{"model_type":"llama"}`, "tokenizer.json": strings.Repeat("t", 5000), "generation_config.json": "{}",
		"model.safetensors": tensors, "pytorch_model.bin": strings.Repeat("pickle", 999), "README.md": "# name", "training_args.bin": "x",
	}
	wanted = []string{"README.md", "config.json", "generation_config.json", "model.safetensors", "tokenizer.json"}
)

// with returns model with some files changed; "" removes one.
func with(changes map[string]string) map[string]string {
	out := make(map[string]string)
	for _, m := range []map[string]string{model, changes} {
		for name, text := range m {
			if out[name] = text; text == "" {
				delete(out, name)
			}
		}
	}
	return out
}

// quick is a configuration that does not wait.
func quick(t *testing.T, h *fakeHub) Config {
	return Config{Cache: t.TempDir(), Endpoint: h.URL, sleep: func(time.Duration) <-chan time.Time {
		c := make(chan time.Time)
		close(c)
		return c
	}}
}

func resolve(t *testing.T, c Config, name string) Model {
	t.Helper()
	m, err := c.Resolve(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func checkFiles(t *testing.T, dir string, files map[string]string, want []string) {
	t.Helper()
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("the folder holds %v, want %v", got, want)
	}
	for _, name := range want {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != files[name] {
			t.Errorf("%s: %d bytes, %v; want %d", name, len(data), err, len(files[name]))
		}
	}
}

func TestDownload(t *testing.T) {
	h := newFakeHub(t, model)
	h.token = "hf_secret"
	c := quick(t, h)
	c.Token = h.token
	var last Progress
	c.Progress = func(p Progress) { last = p }
	m := resolve(t, c, "org/name")
	checkFiles(t, m.Dir, model, wanted)
	bytes := int64(0)
	for _, name := range wanted {
		bytes += int64(len(model[name]))
	}
	if want := (Model{Dir: filepath.Join(c.Cache, "models--org--name", "snapshots", commit), ID: "org/name", Revision: "main", Commit: commit, Downloaded: bytes, Skipped: []string{"pytorch_model.bin", "training_args.bin"}}); !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v, want %+v", m, want)
	}
	if last.Done != bytes || last.Total != bytes || last.Files != 5 || last.FilesDone != 5 || last.Model != "org/name" {
		t.Errorf("the last progress is %+v, want %d bytes", last, bytes)
	}
	if ref, err := os.ReadFile(filepath.Join(c.Cache, "models--org--name", "refs", "main")); err != nil || string(ref) != commit {
		t.Errorf("refs/main holds %q, %v", ref, err)
	}
	if link, err := os.Readlink(filepath.Join(m.Dir, "model.safetensors")); err != nil || link != "../../blobs/"+h.sum("model.safetensors") {
		t.Errorf("the link is %q, %v", link, err)
	}
	for _, line := range h.asked() {
		if own := strings.HasPrefix(line, "hub "); own != strings.Contains(line, "+Bearer hf_secret") {
			t.Errorf("the token went where it must not, or was missing: %s", line)
		}
		if strings.Contains(line, ".bin") {
			t.Errorf("a pickle was fetched: %s", line)
		}
	}
	before := len(h.asked())
	if again := resolve(t, c, "org/name"); again.Downloaded != 0 || again.Dir != m.Dir {
		t.Errorf("again: %+v", again)
	}
	for _, line := range h.asked()[before:] {
		if !strings.Contains(line, "/api/") {
			t.Errorf("a file that was there was asked for: %s", line)
		}
	}
	before = len(h.asked())
	if at := resolve(t, c, "org/name@"+commit); at.Dir != m.Dir || len(h.asked()) != before {
		t.Errorf("a commit in the cache: %+v after %d requests", at, len(h.asked())-before)
	}
}

func TestShards(t *testing.T) {
	files := with(map[string]string{"model.safetensors": "", "a.safetensors": tensors, "b.safetensors": tensors + "b", "c.safetensors": "not named",
		"model.safetensors.index.json": `{"metadata":{},"weight_map":{"x":"a.safetensors","y":"b.safetensors","z":"a.safetensors"}}`})
	h := newFakeHub(t, files)
	m := resolve(t, quick(t, h), "org/name@refs/pr/1")
	checkFiles(t, m.Dir, files, []string{"README.md", "a.safetensors", "b.safetensors", "config.json", "generation_config.json", "model.safetensors.index.json", "tokenizer.json"})
	if _, err := os.Stat(filepath.Join(m.Dir, "..", "..", "refs", "refs", "pr", "1")); err != nil {
		t.Error(err)
	}
}

// TestFolders: of folders, named chat templates are fetched, and what patterns ask for. All else is said to be skipped.
func TestFolders(t *testing.T) {
	files := with(map[string]string{templatesFolder + "/rag.jinja": "r", templatesFolder + "/tool_use.jinja": "t", templatesFolder + "/README.md": "x", templatesFolder + "/old/a.jinja": "x",
		"onnx/model.onnx": strings.Repeat("o", 5000), "onnx/q4/model.onnx": "q", "original/consolidated.00.pth": "p", "added_tokens.json": "{}", ".gitattributes": "x"})
	for _, c := range []struct {
		also    []string
		copies  bool
		here    []string // in folders
		skipped []string
	}{
		{nil, false, nil, []string{templatesFolder + "/README.md", templatesFolder + "/old/", "onnx/", "original/", "pytorch_model.bin", "training_args.bin"}},
		{nil, true, nil, []string{templatesFolder + "/README.md", templatesFolder + "/old/", "onnx/", "original/", "pytorch_model.bin", "training_args.bin"}},
		{[]string{"onnx/q4/*", "*.bin"}, false, []string{"onnx/q4/model.onnx"}, []string{templatesFolder + "/README.md", templatesFolder + "/old/a.jinja", "onnx/model.onnx", "original/"}},
		{[]string{"*"}, false, []string{"onnx/q4/model.onnx", "onnx/model.onnx", "original/consolidated.00.pth", templatesFolder + "/README.md"}, nil},
	} {
		h := newFakeHub(t, files)
		config := quick(t, h)
		config.Also, config.Copies = c.also, c.copies
		m := resolve(t, config, "org/name")
		if !slices.Equal(m.Skipped, c.skipped) {
			t.Errorf("%v: skipped %q, want %q", c.also, m.Skipped, c.skipped)
		}
		for _, name := range append(c.here, templatesFolder+"/rag.jinja", templatesFolder+"/tool_use.jinja", "added_tokens.json") {
			if data, err := os.ReadFile(filepath.Join(m.Dir, name)); err != nil || string(data) != files[name] {
				t.Errorf("%v: %s: %q, %v", c.also, name, data, err)
			}
		}
		if link, err := os.Readlink(filepath.Join(m.Dir, templatesFolder, "rag.jinja")); (err != nil || link != "../../../blobs/"+h.sum(templatesFolder+"/rag.jinja")) && !c.copies {
			t.Errorf("the link is %q, %v", link, err)
		}
		if again := resolve(t, config, "org/name"); again.Downloaded != 0 {
			t.Errorf("%v: again: %+v", c.also, again)
		}
	}
}

func TestCopies(t *testing.T) {
	h := newFakeHub(t, model)
	c := quick(t, h)
	c.Copies = true
	m := resolve(t, c, "org/name")
	checkFiles(t, m.Dir, model, wanted)
	if info, err := os.Lstat(filepath.Join(m.Dir, "model.safetensors")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the file is a link: %v", err)
	}
	before := len(h.asked())
	if again := resolve(t, c, "org/name"); again.Downloaded != 0 || len(h.asked()) > before+4 {
		t.Errorf("again: %+v", again)
	}
	c.Offline = true
	resolve(t, c, "org/name")
}

// cut sends half of what is left and ends the connection.
func cut(h *fakeHub, w http.ResponseWriter, r *http.Request, name string) {
	data, from := h.files[name], 0
	if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); n == 1 && h.ranges {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
		w.Header().Set("Content-Length", strconv.Itoa(len(data)-from))
		w.WriteHeader(http.StatusPartialContent)
	} else {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		from = 0
	}
	_, _ = w.Write(data[from : from+(len(data)-from)/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// faulty lets the first times requests for a large file fail in the given way.
func faulty(h *fakeHub, name string, times int, fail func(w http.ResponseWriter, r *http.Request)) {
	path := "/" + h.sum(name)
	h.fault = func(w http.ResponseWriter, r *http.Request, n int) bool {
		if r.URL.Path != path || n > times {
			return false
		}
		fail(w, r)
		return true
	}
}

func TestContinuesWhatWasCut(t *testing.T) {
	h := newFakeHub(t, model)
	faulty(h, "model.safetensors", 9, func(w http.ResponseWriter, r *http.Request) { cut(h, w, r, "model.safetensors") })
	m := resolve(t, quick(t, h), "org/name")
	checkFiles(t, m.Dir, model, wanted)
	var ranges []string
	for _, line := range h.asked() {
		if _, r, ok := strings.Cut(line, "bytes="); ok && strings.HasPrefix(line, "cdn") {
			ranges = append(ranges, r)
		}
	}
	if len(ranges) != 9 || ranges[0] != "16000-" || ranges[1] != "24000-" {
		t.Errorf("ranges asked for: %v", ranges)
	}
}

func TestServerWithoutRanges(t *testing.T) {
	h := newFakeHub(t, model)
	h.ranges = false
	faulty(h, "model.safetensors", 3, func(w http.ResponseWriter, r *http.Request) { cut(h, w, r, "model.safetensors") })
	checkFiles(t, resolve(t, quick(t, h), "org/name").Dir, model, wanted)
}

// TestLeftovers continues the blob of a process that was killed, and begins again when it holds something else.
func TestLeftovers(t *testing.T) {
	for name, left := range map[string]string{"a part": tensors[:20_000], "all": tensors, "too much": tensors + "more", "another file": strings.Repeat("?", 20_000)} {
		h := newFakeHub(t, model)
		c := quick(t, h)
		blob := filepath.Join(c.Cache, "models--org--name", "blobs", h.sum("model.safetensors"))
		if err := os.MkdirAll(filepath.Dir(blob), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(blob+incomplete, []byte(left), 0o666); err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		checkFiles(t, resolve(t, c, "org/name").Dir, model, wanted)
		asked := strings.Join(h.asked(), "\n")
		if continues := strings.Contains(asked, "bytes=20000-"); continues != (len(left) == 20_000) {
			t.Errorf("%s: asked for\n%s", name, asked)
		}
	}
}

// TestWaits comes back after failures that pass, when the hub says so.
func TestWaits(t *testing.T) {
	h := newFakeHub(t, model)
	answers := []func(w http.ResponseWriter){
		func(w http.ResponseWriter) { w.Header().Set("Retry-After", "7"); w.WriteHeader(429) },
		func(w http.ResponseWriter) { w.WriteHeader(503) },
		func(w http.ResponseWriter) { w.WriteHeader(500) },
	}
	h.fault = func(w http.ResponseWriter, r *http.Request, n int) bool {
		if !strings.HasSuffix(r.URL.Path, "/revision/main") || n > len(answers) {
			return false
		}
		answers[n-1](w)
		return true
	}
	c := quick(t, h)
	var waits []time.Duration
	sleep := c.sleep
	c.sleep = func(d time.Duration) <-chan time.Time { waits = append(waits, d); return sleep(d) }
	resolve(t, c, "org/name")
	if want := []time.Duration{7 * time.Second, time.Second, 2 * time.Second}; !slices.Equal(waits, want) {
		t.Errorf("waited %v, want %v", waits, want)
	}
}

func TestOffline(t *testing.T) {
	h := newFakeHub(t, model)
	c := quick(t, h)
	m := resolve(t, c, "org/name")
	before := len(h.asked())
	c.Offline = true
	if off := resolve(t, c, "org/name"); off.Dir != m.Dir || len(h.asked()) != before {
		t.Errorf("offline: %+v after %d requests", off, len(h.asked())-before)
	}
	h.Close()
	c.Offline = false
	down := resolve(t, c, "org/name")
	if down.Dir != m.Dir || !strings.Contains(down.Warning, "the hub could not be asked for changes") || !strings.Contains(down.Warning, commit) {
		t.Errorf("without a network: %+v", down)
	}
	if err := os.Remove(filepath.Join(m.Dir, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resolve(t.Context(), "org/name"); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("without a network and a file: %v", err)
	}
}

// TestOnce: several who want the same model at once fetch each file once.
func TestOnce(t *testing.T) {
	h := newFakeHub(t, model)
	c := quick(t, h)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := c.Resolve(context.Background(), "org/name"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	checkFiles(t, c.Cache+"/models--org--name/snapshots/"+commit, model, wanted)
	for path, n := range h.counts {
		if n > 1 && !strings.HasPrefix(path, "/api/") {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

// TestLinkedAtOnce: whoever links a blob that others link too neither fails nor takes it away.
func TestLinkedAtOnce(t *testing.T) {
	s := store{cache: t.TempDir(), name: Name{ID: "org/name"}}
	sum := strings.Repeat("ab", 32)
	if err := os.MkdirAll(s.path("blobs"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.blob(sum), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if err := s.link(commit, strconv.Itoa(i), sum, false); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if size(s.blob(sum)) != 1 || size(filepath.Join(s.snapshot(commit), strconv.Itoa(i))) != 1 {
			t.Fatalf("after %d files the blob is gone", i+1)
		}
	}
}

// TestBranchMoves: a new commit shares the blobs that did not change.
func TestBranchMoves(t *testing.T) {
	h := newFakeHub(t, model)
	c := quick(t, h)
	resolve(t, c, "org/name")
	h.mu.Lock()
	h.sha = strings.Repeat("b", 40)
	h.files["config.json"] = []byte(`{"model_type":"qwen3"}`)
	h.mu.Unlock()
	m := resolve(t, c, "org/name")
	if m.Downloaded != int64(len(h.files["config.json"])) || m.Commit != h.sha {
		t.Errorf("got %+v", m)
	}
	checkFiles(t, m.Dir, with(map[string]string{"config.json": `{"model_type":"qwen3"}`}), wanted)
}

func TestCancel(t *testing.T) {
	h := newFakeHub(t, model)
	ctx, cancel := context.WithCancel(t.Context())
	faulty(h, "model.safetensors", 9, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	c := quick(t, h)
	if _, err := c.Resolve(ctx, "org/name"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(c.Cache, "models--org--name", "refs")); err == nil {
		t.Error("refs/main names a model that is not complete")
	}
}

func TestPlainFolder(t *testing.T) {
	dir := t.TempDir()
	m, err := Config{}.Resolve(t.Context(), dir)
	if err != nil || !reflect.DeepEqual(m, Model{Dir: dir}) {
		t.Errorf("got %+v, %v", m, err)
	}
	t.Chdir(dir)
	if err := os.MkdirAll("org/name", 0o777); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"other/name": true, "other/name@v1": true, "org/name": false, "org/missing": false, "name": false, "./a/b": false,
		"/a/b": false, "a/b/c": false, "a/b/": false, "a/b c": false} {
		if IsName(name) != want {
			t.Errorf("%s is taken for a name: %v", name, !want)
		}
	}
	if m, err := (Config{}).Resolve(t.Context(), "org/name"); err != nil || m.Dir != "org/name" {
		t.Errorf("a folder comes first: got %+v, %v", m, err)
	}
}
