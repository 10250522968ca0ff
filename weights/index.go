// model.safetensors.index.json: which shard holds which tensor.

package weights

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shard is a file and the tensors that the index places in it.
type shard struct {
	file    string
	tensors []string
}

// parseIndex returns the shards in order of file name. Names that could lead out of the folder are refused.
func parseIndex(data []byte) ([]shard, error) {
	var f struct {
		Metadata jsontext.Value    `json:"metadata"` // total_size and notes; the files themselves say it better
		Map      map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(data, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, shorten(err)
	}
	if len(f.Map) == 0 {
		return nil, errors.New("weight_map: missing or empty")
	}
	in := make(map[string][]string)
	for _, tensor := range slices.Sorted(maps.Keys(f.Map)) {
		file := f.Map[tensor]
		if err := plainName(file); err != nil {
			return nil, fmt.Errorf("weight_map: tensor %.60q: file %.60q %w", tensor, file, err)
		}
		in[file] = append(in[file], tensor)
	}
	var shards []shard
	for _, file := range slices.Sorted(maps.Keys(in)) {
		shards = append(shards, shard{file, in[file]})
	}
	return shards, nil
}

// plainName accepts a file name and nothing that is a path.
func plainName(name string) error {
	switch {
	case len(name) > 255:
		return fmt.Errorf("has a name of %d bytes; at most 255", len(name))
	case strings.ContainsAny(name, "/\\:\x00") || strings.HasPrefix(name, "."):
		return errors.New("must be the plain name of a file in the folder")
	case !strings.HasSuffix(name, ".safetensors"):
		return errors.New("must end in .safetensors")
	}
	return nil
}
