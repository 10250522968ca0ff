// What is refused, and with which words.

package hub

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestRefusals(t *testing.T) {
	status := func(code int, explained string) func(*fakeHub, *Config) {
		return func(h *fakeHub, c *Config) {
			h.fault = func(w http.ResponseWriter, r *http.Request, n int) bool {
				if strings.HasPrefix(r.URL.Path, "/api/") {
					refuse(w, code, explained)
				}
				return strings.HasPrefix(r.URL.Path, "/api/")
			}
		}
	}
	token := func(then func(*fakeHub, *Config)) func(*fakeHub, *Config) {
		return func(h *fakeHub, c *Config) { c.Token = "hf_mine"; then(h, c) }
	}
	entry := func(path string, size any, oid string) func(*fakeHub, *Config) {
		return func(h *fakeHub, c *Config) {
			h.tree = append(h.tree, map[string]any{"type": "file", "path": path, "size": size, "oid": oid})
		}
	}
	sends := func(fail func(w http.ResponseWriter, data []byte)) func(*fakeHub, *Config) {
		return func(h *fakeHub, c *Config) {
			faulty(h, "model.safetensors", 99, func(w http.ResponseWriter, r *http.Request) { fail(w, h.files["model.safetensors"]) })
		}
	}
	index := func(text string) map[string]string {
		return with(map[string]string{"model.safetensors": "", "model.safetensors.index.json": text})
	}
	sha := strings.Repeat("c", 40)
	for _, c := range []struct {
		name  string
		files map[string]string
		spoil func(*fakeHub, *Config)
		want  string
	}{
		{"gated", model, status(401, "GatedRepo"), "hub: org/name: is gated: accept its conditions at {hub}/org/name, then set HF_TOKEN to a token of that account"},
		{"gated, with a token", model, token(status(403, "GatedRepo")), "is gated, and the account of your token has no access: accept its conditions at {hub}/org/name"},
		{"gated when a file is fetched", model, func(h *fakeHub, c *Config) {
			h.fault = func(w http.ResponseWriter, r *http.Request, n int) bool {
				if strings.Contains(r.URL.Path, "/resolve/") {
					refuse(w, 403, "GatedRepo")
				}
				return strings.Contains(r.URL.Path, "/resolve/")
			}
		}, "hub: org/name: is gated"},
		{"not there", model, status(404, "RepoNotFound"), "does not exist on {hub}, or is private: check the spelling, or set HF_TOKEN"},
		{"not there, as the hub says without a token", model, status(401, "RepoNotFound"), "does not exist on {hub}, or is private: check the spelling, or set HF_TOKEN"},
		{"not there, with a token", model, token(status(404, "RepoNotFound")), "or is private and your token has no access"},
		{"token refused", model, token(status(401, "")), "the hub does not accept your token (401); make a new one at {hub}/settings/tokens"},
		{"forbidden", model, status(403, ""), "the hub forbids access (403); check at {hub}/org/name"},
		{"too many requests", model, func(h *fakeHub, c *Config) {
			h.fault = func(w http.ResponseWriter, r *http.Request, n int) bool {
				w.Header().Set("Retry-After", "300")
				w.WriteHeader(429)
				return true
			}
		}, "the hub has had too many requests (429); try again in 5m0s, or set HF_TOKEN, which allows more"},
		{"down", model, status(502, ""), "the hub fails (status 502); try again later"},
		{"teapot", model, status(418, ""), "the hub answers with status 418, which is not understood"},
		{"no hub", model, func(h *fakeHub, c *Config) { h.Close() }, "{hub} cannot be reached ("},
		{"not a hub", model, func(h *fakeHub, c *Config) {
			h.fault = func(w http.ResponseWriter, r *http.Request, n int) bool { fmt.Fprint(w, "<html>"); return true }
		}, "the hub's answer is not what it should be (is {hub} a hub?)"},
		{"offline", model, func(h *fakeHub, c *Config) { c.Offline = true }, "has no main), and HF_HUB_OFFLINE forbids to download it; unset it, or give a folder"},
		{"no such revision", model, nil, `has no revision "nope"; look at {hub}/org/name/tree/main`},
		{"commit is a path", model, func(h *fakeHub, c *Config) { h.sha = "../../../../etc" }, `the hub names "../../../../etc" as the commit of main, which is none`},
		{"negative size", model, entry("LICENSE", -1, sha), `the hub describes "LICENSE" with -1 bytes`},
		{"checksum is a path", model, entry("LICENSE", 5, "../../../x"), `checksum "../../../x", which cannot be`},
		{"size is text", model, entry("LICENSE", "5", sha), "the hub's answer is not what it should be"},
		{"text too large", model, entry("LICENSE", 1<<40, sha), "LICENSE has 1099511627776 bytes, which is too large"},
		{"sizes overflow", index(`{"weight_map":{"x":"a.safetensors","y":"b.safetensors"}}`), func(h *fakeHub, c *Config) {
			entry("a.safetensors", int64(1)<<62, sha)(h, c)
			entry("b.safetensors", int64(1)<<62, sha)(h, c)
		}, "claims more bytes than there can be"},
		{"more than any disk", index(`{"weight_map":{"x":"a.safetensors"}}`), func(h *fakeHub, c *Config) {
			entry("a.safetensors", int64(1<<63-10_000), sha)(h, c)
		}, "MB more in {cache}"},
		{"over the limit", model, func(h *fakeHub, c *Config) { c.MaxBytes = 1000 }, "has more than 1e-06 GB, the limit for one model (MOLT_MAX_DOWNLOAD_GB)"},
		{"disk too small", model, func(h *fakeHub, c *Config) { c.free = func(string) (int64, bool) { return 10 << 20, true } }, "MB more in {cache}, where 10 MB are free; make room or set HF_HUB_CACHE to another disk"},
		{"pickle only", with(map[string]string{"model.safetensors": ""}), nil, "has no safetensors but pytorch_model.bin, a pickle, which can run code when it is read"},
		{"gguf only", map[string]string{"m.Q4_0.gguf": "GGUF"}, nil, "has no config.json, so it is no model for transformers but GGUF files; download one (m.Q4_0.gguf) and run molt model import"},
		{"adapter", map[string]string{"adapter_config.json": "{}", "adapter_model.safetensors": "x"}, nil, "holds an adapter, not a model (adapter_config.json)"},
		{"empty", map[string]string{".gitattributes": "x"}, nil, "has no config.json, so it is no model for transformers"},
		{"index leads out", index(`{"weight_map":{"x":"../../../../.bashrc"}}`), nil, `model.safetensors.index.json: weight_map: tensor "x": file "../../../../.bashrc" must be the plain name of a safetensors file`},
		{"index of a pickle", index(`{"weight_map":{"x":"pytorch_model.bin"}}`), nil, `file "pytorch_model.bin" must be the plain name of a safetensors file`},
		{"index names what is not there", index(`{"weight_map":{"x":"a.safetensors"}}`), nil, "model.safetensors.index.json names a.safetensors, which the repository does not hold"},
		{"index is empty", index(`{}`), nil, "weight_map names 0 files"},
		{"index is no JSON", index(`<html>`), nil, "model.safetensors.index.json: is not JSON with a weight_map"},
		{"wrong bytes", model, sends(func(w http.ResponseWriter, data []byte) { fmt.Fprint(w, strings.Repeat("x", len(data))) }), "model.safetensors: does not match its checksum"},
		{"too many bytes", model, sends(func(w http.ResponseWriter, data []byte) {
			w.(http.Flusher).Flush() // no length
			_, _ = w.Write(append(data, data...))
		}), "model.safetensors: the hub sends more than the 32000 bytes of its list"},
		{"another length", model, sends(func(w http.ResponseWriter, data []byte) {
			w.Header().Set("Content-Length", strconv.Itoa(len(data)-1))
			_, _ = w.Write(data[1:])
		}), "the hub sends 31999 bytes where its list says 32000"},
		{"never all", model, sends(func(w http.ResponseWriter, data []byte) {
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			panic(http.ErrAbortHandler)
		}), "{hub} cannot be reached ("},
		{"round and round", model, sends(func(w http.ResponseWriter, data []byte) {
			w.Header().Set("Location", "/loop")
			w.WriteHeader(302)
		}), "the hub redirects more than 5 times"},
		{"sent to a file", model, sends(func(w http.ResponseWriter, data []byte) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(302)
		}), `the hub sends us to "file:///etc/passwd"`},
		{"list goes elsewhere", model, func(h *fakeHub, c *Config) {
			h.fault = func(w http.ResponseWriter, r *http.Request, n int) bool {
				if !strings.Contains(r.URL.Path, "/tree/") {
					return false
				}
				w.Header().Set("Link", `<http://evil.example/tree?cursor=1>; rel="next"`)
				fmt.Fprint(w, "[]")
				return true
			}
		}, "the hub continues its list of files at"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newFakeHub(t, c.files)
			config := quick(t, h)
			if c.spoil != nil {
				c.spoil(h, &config)
			}
			if c.name == "round and round" {
				loop := h.fault
				h.fault = func(w http.ResponseWriter, r *http.Request, n int) bool {
					if r.URL.Path == "/loop" {
						http.Redirect(w, r, "/loop", http.StatusFound)
						return true
					}
					return loop(w, r, n)
				}
			}
			name := "org/name"
			if c.name == "no such revision" {
				name += "@nope"
			}
			m, err := config.Resolve(t.Context(), name)
			want := strings.NewReplacer("{hub}", h.URL, "{cache}", config.Cache).Replace(c.want)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "hub: org/name") || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %+v, %v\nwant a sentence with %q", m, err, want)
			}
			inside(t, config.Cache)
		})
	}
}

// inside makes sure that nothing was written beside the cache, and no snapshot holds a file that is not complete.
func inside(t *testing.T, cache string) {
	t.Helper()
	siblings, err := os.ReadDir(filepath.Dir(cache))
	if err != nil || len(siblings) != 1 {
		t.Errorf("beside the cache: %v, %v", siblings, err)
	}
	if refs, err := os.ReadDir(filepath.Join(cache, "models--org--name", "refs")); err == nil {
		t.Errorf("a reference was written: %v", refs)
	}
}

// TestTraversalInList: names that lead out are not asked for, whatever asks for them, and are said to be skipped.
func TestTraversalInList(t *testing.T) {
	odd := []string{"../../../../tmp/x", "/etc/passwd", `..\\..\\x`, "..", templatesFolder + "/../../../x.jinja", templatesFolder + "//x.jinja", templatesFolder + "/..jinja/../x.jinja",
		"a/./b", "c:/x", "a/..", "x\x00y", "nul\n", strings.Repeat("n", 256)}
	for _, also := range [][]string{nil, {"*"}} {
		t.Run(fmt.Sprint(also), func(t *testing.T) { checkTraversal(t, odd, also) })
	}
}

func checkTraversal(t *testing.T, odd, also []string) {
	h := newFakeHub(t, with(map[string]string{"pytorch_model.bin": "", "training_args.bin": ""}))
	for _, path := range odd {
		h.tree = append(h.tree, map[string]any{"type": "file", "path": path, "size": 3, "oid": strings.Repeat("d", 40)})
	}
	h.tree = append(h.tree, map[string]any{"type": "directory", "path": "..", "size": 0, "oid": "x"}, map[string]any{"type": "directory", "path": "config.json", "size": 0, "oid": "x"})
	c := quick(t, h)
	c.Also = also
	m := resolve(t, c, "org/name")
	checkFiles(t, m.Dir, model, wanted)
	if n := len(m.Skipped); n < len(odd) || n > len(odd)+2 || !slices.Contains(m.Skipped, `"../../../../tmp/x"`) {
		t.Errorf("skipped %q", m.Skipped)
	}
	if siblings, err := os.ReadDir(filepath.Dir(c.Cache)); err != nil || len(siblings) != 1 {
		t.Errorf("beside the cache: %v, %v", siblings, err)
	}
}

// TestWrongOnce: bytes that were damaged on their way are fetched again.
func TestWrongOnce(t *testing.T) {
	h := newFakeHub(t, model)
	faulty(h, "model.safetensors", 1, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.Repeat("x", len(tensors)))
	})
	var last Progress
	c := quick(t, h)
	c.Progress = func(p Progress) { last = p }
	checkFiles(t, resolve(t, c, "org/name").Dir, model, wanted)
	if last.Done != last.Total {
		t.Errorf("progress ends at %+v", last)
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string]Name{
		"org/name":            {"org/name", "main"},
		"gpt2":                {"gpt2", "main"},
		"o.r_g/na-me1.5@v1.0": {"o.r_g/na-me1.5", "v1.0"},
		"org/name@refs/pr/12": {"org/name", "refs/pr/12"},
		"org/name@" + commit:  {"org/name", commit},
	} {
		if got, err := ParseName(text); got != want || err != nil {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"a/b/c": "more than one slash", "org/": "a part is empty", "/name": "a part is empty", "org/na me": "characters other than", "org/..": ".. in it",
		"org/-x": "begins or ends", "org/a--b": "has -- or ..", "org/name@": "must be a branch", "org/name@../../x": "must be a branch",
		"org/name@a//b": "must be a branch", "org/name@.lock": "must be a branch", "org/name@v1..v2": "must be a branch", "org/name@a b": "must be a branch", "org/" + strings.Repeat("x", 97): "at most 96",
		"https://host/org/name": "more than one slash",
	} {
		if got, err := ParseName(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v; want %q", text, got, err, want)
		}
	}
	for _, path := range []string{"./x", "../x", "/none/x", "~/x", "x/", ""} {
		if _, err := (Config{}).Resolve(t.Context(), path); err == nil || !strings.Contains(err.Error(), "there is no such folder") {
			t.Errorf("%q: got %v", path, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("hf_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  map[string]string
		want Config
	}{
		{map[string]string{"HOME": "/h"}, Config{Cache: "/h/.cache/huggingface/hub", Endpoint: defaultEndpoint}},
		{map[string]string{"HOME": "/h", "HF_HOME": "~/hf"}, Config{Cache: "/h/hf/hub", Endpoint: defaultEndpoint}},
		{map[string]string{"XDG_CACHE_HOME": "/x"}, Config{Cache: "/x/huggingface/hub", Endpoint: defaultEndpoint}},
		{map[string]string{"HF_HOME": dir, "XDG_CACHE_HOME": "/x"}, Config{Cache: dir + "/hub", Endpoint: defaultEndpoint, Token: "hf_file"}},
		{map[string]string{"HF_HOME": dir, "HF_HUB_CACHE": "/c", "HF_TOKEN": " hf_env ", "HF_ENDPOINT": "http://mirror:8080/"}, Config{Cache: "/c", Endpoint: "http://mirror:8080", Token: "hf_env"}},
		{map[string]string{"HF_HOME": dir, "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1", "HF_HUB_OFFLINE": "true", "HF_HUB_DISABLE_SYMLINKS": "yes"},
			Config{Cache: dir + "/hub", Endpoint: defaultEndpoint, Offline: true, Copies: true}},
		{map[string]string{"HOME": "/h", "TRANSFORMERS_OFFLINE": "1", "HF_TOKEN_PATH": dir + "/token"}, Config{Cache: "/h/.cache/huggingface/hub", Endpoint: defaultEndpoint, Offline: true, Token: "hf_file"}},
		{map[string]string{"HOME": "/h", "HF_HUB_OFFLINE": "0"}, Config{Cache: "/h/.cache/huggingface/hub", Endpoint: defaultEndpoint}},
	} {
		got, err := FromEnvironment(func(name string) string { return c.env[name] })
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v: got %+v, %v; want %+v", c.env, got, err, c.want)
		}
	}
	for want, env := range map[string]map[string]string{
		"HF_ENDPOINT":    {"HOME": "/h", "HF_ENDPOINT": "mirror"},
		"must be a URL":  {"HOME": "/h", "HF_ENDPOINT": "ftp://mirror"},
		"is no token":    {"HOME": "/h", "HF_TOKEN": "a\nb"},
		"a URL such as":  {"HOME": "/h", "HF_ENDPOINT": "http://user:secret@mirror"},
		"read the token": {"HOME": "/h", "HF_TOKEN_PATH": dir},
	} {
		if _, err := FromEnvironment(func(name string) string { return env[name] }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", env, err, want)
		}
	}
}

func TestMatches(t *testing.T) {
	for pattern, names := range map[string][2][]string{
		"onnx/*": {{"onnx/a", "onnx/b/c"}, {"onnx", "xonnx/a"}}, "*.bin": {{"a.bin", "a/b.bin", ".bin"}, {"a.bins"}}, "a": {{"a"}, {"aa", "a/b"}},
		"*": {{"", "a/b"}, nil}, "a*b*c": {{"abc", "axbxc", "abbcc"}, {"acb", "ab", "xabc"}}, "ab*ba": {{"abba"}, {"aba"}}, "**x": {{"x", "ax"}, {"xa"}}, "": {{""}, {"a"}},
	} {
		for i, list := range names {
			for _, name := range list {
				if matches(pattern, name) != (i == 0) {
					t.Errorf("%q matches %q: %v", pattern, name, i == 1)
				}
			}
		}
	}
}

// FuzzNames: a name or an index that is accepted leads nowhere but into the cache.
func FuzzNames(f *testing.F) {
	f.Add("org/name@refs/pr/1", `{"weight_map":{"x":"a.safetensors"}}`)
	f.Add("org/..@../x", `{"weight_map":{"x":"../a.safetensors"}}`)
	f.Fuzz(func(t *testing.T, name, index string) {
		if safePath(name) && (!filepath.IsLocal(name) || filepath.Clean(name) != name || strings.Contains(name, `\`)) {
			t.Errorf("%q leads out", name)
		}
		if n, err := ParseName(name); err == nil {
			s := store{"/cache", n}
			for _, path := range []string{s.path("refs", filepath.FromSlash(n.Revision)), s.blob(commit), s.lock(commit)} {
				if !strings.HasPrefix(path, "/cache/") || strings.Contains(path, "..") {
					t.Errorf("%q leads to %s", name, path)
				}
			}
			if strings.Contains(n.folder(), "/") || strings.ContainsAny(n.path(), "?#%") {
				t.Errorf("%q is the folder %s and the path %s", name, n.folder(), n.path())
			}
		}
		if shards, err := shardsOf([]byte(index)); err == nil {
			for _, shard := range shards {
				if filepath.Base(shard) != shard || strings.HasPrefix(shard, ".") {
					t.Errorf("%s names %q", index, shard)
				}
			}
		}
	})
}

func TestDownloadLimit(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "2": 2e9, "0.5": 5e8, "0": -1, "-1": -1, "NaN": -1, "all": -1, "1e300": -1} {
		c, err := FromEnvironment(func(name string) string {
			return map[string]string{"HF_HOME": "/cache", "MOLT_MAX_DOWNLOAD_GB": text}[name]
		})
		if (err != nil) != (want < 0) || err == nil && c.MaxBytes != want {
			t.Errorf("%q: %d, %v", text, c.MaxBytes, err)
		}
	}
}
