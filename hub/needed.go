// Which files of a repository a model needs: its texts, and safetensors. Pickles can run code when they are read, and are
// refused by name. Of folders, only the named chat templates are needed.

package hub

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

const (
	configName = "config.json"
	singleName = "model.safetensors"
	indexName  = "model.safetensors.index.json"

	maxIndex  = 64 << 20  // bytes
	maxText   = 256 << 20 // bytes of one text
	maxShards = 10_000

	templatesFolder = "additional_chat_templates"
	maxTemplates    = 64
)

// textNames are fetched when they are there.
var textNames = []string{configName, "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
	"added_tokens.json", "chat_template.jinja", "chat_template.json", "README.md", "LICENSE", "LICENSE.txt", "LICENSE.md"}

// otherTokenizers are fetched where there is no tokenizer.json: they can be read, or it can be said why not.
var otherTokenizers = []string{"vocab.json", "merges.txt", "tokenizer.model", "tiktoken.model", "tekken.json", "vocab.txt", "spiece.model"}

// texts are the needed files that are no tensors, the index among them. They are small and come first.
func (l listing) texts() ([]remoteFile, error) {
	if _, ok := l.files[configName]; !ok {
		if _, adapter := l.files["adapter_config.json"]; adapter {
			return nil, errors.New("holds an adapter, not a model (adapter_config.json); name the model that it adapts")
		}
		return nil, l.unusable("has no config.json, so it is no model for transformers")
	}
	var out []remoteFile
	names := textNames
	if _, ok := l.files["tokenizer.json"]; !ok {
		names = slices.Concat(names, otherTokenizers)
	}
	templates := l.templates()
	if len(templates) > maxTemplates {
		return nil, fmt.Errorf("has more than %d chat templates", maxTemplates)
	}
	for _, name := range slices.Concat(names, templates) {
		if f, ok := l.files[name]; ok {
			out = append(out, f)
		}
	}
	_, single := l.files[singleName]
	index, sharded := l.files[indexName]
	switch {
	case !single && !sharded:
		return nil, l.unusable("has no safetensors")
	case !single:
		out = append(out, index)
	}
	for _, f := range out {
		if f.bytes > maxText || f.name == indexName && f.bytes > maxIndex {
			return nil, fmt.Errorf("%s has %d bytes, which is too large for what it should hold", f.name, f.bytes)
		}
	}
	return out, nil
}

// templates are the files with named chat templates.
func (l listing) templates() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		inside, ok := strings.CutPrefix(name, templatesFolder+"/")
		if ok && !strings.Contains(inside, "/") && strings.HasSuffix(inside, ".jinja") {
			names = append(names, name)
		}
	}
	return names
}

// also are the files that patterns ask for.
func (l listing) also(patterns []string) (out []remoteFile) {
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		if slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) }) {
			out = append(out, l.files[name])
		}
	}
	return out
}

// unusable adds what the repository has instead.
func (l listing) unusable(why string) error {
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		switch {
		case strings.HasSuffix(name, ".gguf"):
			return fmt.Errorf("%s but GGUF files; download one (%s) and run molt model import on it", why, name)
		case strings.HasSuffix(name, ".bin") || strings.HasSuffix(name, ".pt") || strings.HasSuffix(name, ".pth") || strings.HasSuffix(name, ".ckpt"):
			return fmt.Errorf("%s but %s, a pickle, which can run code when it is read; look for a revision or a copy with safetensors", why, name)
		}
	}
	return errors.New(why)
}

// tensors are the files that hold them. index is the text of the index, nil when one file holds all.
func (l listing) tensors(index []byte) ([]remoteFile, error) {
	if f, ok := l.files[singleName]; ok {
		return []remoteFile{f}, nil
	}
	shards, err := shardsOf(index)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", indexName, err)
	}
	var out []remoteFile
	for _, shard := range shards {
		f, ok := l.files[shard]
		if !ok {
			return nil, fmt.Errorf("%s names %s, which the repository does not hold", indexName, shard)
		}
		out = append(out, f)
	}
	return out, nil
}

// shardsOf lists the files of an index. Names that could lead out of a folder are refused.
func shardsOf(index []byte) ([]string, error) {
	var f struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(index, &f); err != nil {
		return nil, fmt.Errorf("is not JSON with a weight_map: %w", err)
	}
	files := make(map[string]bool)
	for tensor, file := range f.Map {
		if len(file) > 255 || strings.ContainsAny(file, "/\\:\x00") || strings.HasPrefix(file, ".") || !strings.HasSuffix(file, ".safetensors") {
			return nil, fmt.Errorf("weight_map: tensor %.60q: file %.60q must be the plain name of a safetensors file", tensor, file)
		}
		files[file] = true
	}
	if len(files) == 0 || len(files) > maxShards {
		return nil, fmt.Errorf("weight_map names %d files", len(files))
	}
	return slices.Sorted(maps.Keys(files)), nil
}

func readAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data, err
}
