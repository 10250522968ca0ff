package weights

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCacheLinks: a snapshot of the Hugging Face cache is read through its links, and no other way out of a folder is.
func TestCacheLinks(t *testing.T) {
	const sha = "0123456789abcdef0123456789abcdef01234567"
	sum := strings.Repeat("ab", 32)
	file, _ := sample(t)
	cache := t.TempDir()
	snapshot := filepath.Join(cache, "models--org--name", "snapshots", sha)
	blobs := filepath.Join(cache, "models--org--name", "blobs")
	for _, dir := range []string{snapshot, blobs, filepath.Join(snapshot, templatesName)} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	shared := filepath.Join(cache, "blobs", "ab")
	if err := os.MkdirAll(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(blobs, sha), file)
	put(t, filepath.Join(shared, sum), file)
	put(t, filepath.Join(cache, "secret.safetensors"), file)
	put(t, filepath.Join(blobs, "short"), file)
	for name, target := range map[string]string{
		"good.safetensors":                         "../../blobs/" + sha,
		"additional_chat_templates/tool_use.jinja": "../../../blobs/" + sha,
		"shared.safetensors":                       "../../blobs/" + strings.Repeat("e", 40),
		"else.safetensors":                         "../../blobs/" + strings.Repeat("d", 40),
		"gone.safetensors":                         "../../blobs/" + strings.Repeat("f", 64),
		"short.safetensors":                        "../../blobs/short",
		"up.safetensors":                           "../../../secret.safetensors",
		"through.safetensors":                      "../../blobs/../../secret.safetensors",
		"root.safetensors":                         filepath.Join(cache, "secret.safetensors"),
	} {
		if err := os.Symlink(target, filepath.Join(snapshot, name)); err != nil {
			t.Skip("the system has no symbolic links: ", err)
		}
	}
	if err := os.Symlink("../../blobs/ab/"+sum, filepath.Join(blobs, strings.Repeat("e", 40))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../blobs/ac/"+sum, filepath.Join(blobs, strings.Repeat("d", 40))); err != nil {
		t.Fatal(err)
	}
	if texts, err := ReadTexts(snapshot); err != nil || len(texts.Templates) != 1 || string(texts.Templates[0].Data) != string(file) {
		t.Errorf("a template in a folder of the snapshot: %v, %d", err, len(texts.Templates))
	}
	for _, name := range []string{"good.safetensors", "shared.safetensors"} {
		f, err := Open(filepath.Join(snapshot, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if x, err := f.Tensor("scalar"); err != nil || x.Data[0] != 7 {
			t.Errorf("%s: got %v, %v", name, x, err)
		}
	}
	for name, want := range map[string]string{
		"gone.safetensors":    "no such file",
		"else.safetensors":    "links out of the folder are not followed",
		"short.safetensors":   "links out of the folder are not followed",
		"up.safetensors":      "links out of the folder are not followed",
		"through.safetensors": "links out of the folder are not followed",
		"root.safetensors":    "links out of the folder are not followed",
	} {
		f, err := Open(filepath.Join(snapshot, name))
		if err == nil {
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}
