// What lies in or around a model folder and is not the model.

package models

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"molt/chat"
	"molt/internal/spell"
	"molt/run/folder"
	"molt/run/problem"
)

// PointToModel recognises a run folder, which holds models without being one.
func PointToModel(path string) error {
	if path == "" || exists(filepath.Join(path, "config.json")) {
		return nil
	}
	for _, inside := range []string{folder.BestDir, folder.LastDir, folder.FinalDir, "rl/" + folder.BestDir, "rl/" + folder.LastDir, "sft/" + folder.FinalDir} {
		if at := filepath.Join(path, filepath.FromSlash(inside)); exists(filepath.Join(at, "config.json")) {
			return &problem.Problem{Code: problem.Model, Where: path, What: "this is a run, which holds models", Fix: "name one of them: " + spell.Quoted(at)}
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ReadSuggestions gives the file's sampling settings as flags; none when there is no such file.
func ReadSuggestions(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	v, err := chat.ParseValue(data)
	if err != nil {
		return nil
	}
	var flags []string
	for _, name := range []string{"temperature", "top_p", "top_k", "min_p"} {
		member, _ := v.Get(name)
		if x, ok := member.Float64(); ok && !math.IsNaN(x) {
			flags = append(flags, fmt.Sprintf("--%s %v", strings.ReplaceAll(name, "_", "-"), x))
		}
	}
	return flags
}

// nearbyModels names the model folder beside path that is called almost the same.
func nearbyModels(path string) string {
	parent := filepath.Dir(path)
	entries, err := os.ReadDir(parent)
	if err != nil {
		return "check the path"
	}
	var found []string
	for _, e := range entries {
		if at := filepath.Join(parent, e.Name()); exists(filepath.Join(at, "config.json")) {
			found = append(found, at)
		}
	}
	if near := spell.Nearest(filepath.Clean(path), found); near != "" {
		return "did you mean " + spell.Quoted(near) + "?"
	}
	if len(found) == 0 {
		return "check the path"
	}
	for i := range found {
		found[i] = spell.Quoted(found[i])
	}
	return "models there: " + strings.Join(found[:min(5, len(found))], ", ")
}
