package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serveModel is a hub that holds the files of a folder as org/name.
func serveModel(t *testing.T, dir string) *httptest.Server {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var tree []map[string]any
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		tree = append(tree, map[string]any{"type": "file", "path": e.Name(), "size": len(data), "oid": commit,
			"lfs": map[string]any{"oid": hex.EncodeToString(sum[:]), "size": len(data)}})
	}
	mux := http.NewServeMux()
	answer := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	mux.HandleFunc("/api/models/org/name/revision/main", answer(map[string]string{"sha": commit}))
	mux.HandleFunc("/api/models/org/name/tree/"+commit, answer(tree))
	mux.Handle("/org/name/resolve/"+commit+"/", http.StripPrefix("/org/name/resolve/"+commit+"/", http.FileServer(http.Dir(dir))))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// TestModelsByName uses a model of the hub as an argument and as a setting, with the hub and without.
func TestModelsByName(t *testing.T) {
	dir := t.TempDir()
	golden, err := filepath.Abs("../weights/gguf/testdata/golden/qwen2.gguf")
	if err != nil {
		t.Fatal(err)
	}
	molt(t, dir, "model", "import", golden, "imported").want(t, 0)
	hub := serveModel(t, filepath.Join(dir, "imported"))
	run := func(env string, args ...string) said {
		cmd := command(dir, args...)
		cmd.Env = append(cmd.Env, "HF_HUB_CACHE="+filepath.Join(dir, "cache"), "HF_ENDPOINT="+hub.URL, "HF_TOKEN=hf_x", env)
		return finish(t, cmd)
	}
	run("HF_HUB_OFFLINE=1", "model", "info", "org/name").want(t, exitRefused, "HF_HUB_OFFLINE forbids to download it")
	first := run("HF_HUB_OFFLINE=0", "model", "info", "org/name")
	first.want(t, 0, "Qwen2ForCausalLM, 28,320 parameters", "org/name: 0.1 MB downloaded to ", "org/name: not downloaded, since nothing here reads it: molt-manifest.json (MOLT_DOWNLOAD_ALSO='onnx/*,*.bin' downloads what fits such patterns)\n")
	if second := run("HF_HUB_OFFLINE=0", "model", "info", "org/name"); second.code != 0 || strings.Contains(second.stderr, "downloaded") {
		t.Errorf("again: %+v", second)
	}
	hub.Close()
	run("HF_HUB_OFFLINE=0", "model", "info", "org/name").want(t, 0, "warning: org/name: the hub could not be asked for changes")
	if err := os.WriteFile(filepath.Join(dir, "chats.jsonl"), []byte(`{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	plan := run("HF_HUB_OFFLINE=1", "sft", "--model.model_name_or_path", "org/name", "--data.dataset", "chats.jsonl", "--data.max_len", "64", "--ckpt.path", "run", "--dry-run")
	if !strings.Contains(plan.stdout+plan.stderr, "models--org--name/snapshots/0123456789abcdef0123456789abcdef01234567") {
		t.Errorf("the plan does not name the commit: %+v", plan)
	}
	run("HF_HUB_OFFLINE=0", "model", "info", "other/name").want(t, exitRefused, "cannot be reached")
	run("HF_HUB_OFFLINE=0", "model", "info", "cache/name").want(t, exitRefused, "cache/name: there is no such model")
}
