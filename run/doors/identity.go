package doors

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"molt/agent/command"
	files "molt/python"
	"molt/run/problem"
	"molt/run/recipe"
)

// maxIdentity is the most bytes of a folder that are looked at.
const maxIdentity = 1 << 30

// Identify adds to inputs what the agent is made of, so that a run does not go on with another: its Python file and those
// beside it, every file that its command and its grader name, its workspace, its judge's rubric. Programs elsewhere and what
// they load are not looked at.
func Identify(inputs map[string]string, c *recipe.AgentConfig) error {
	add := func(what, path string) error {
		sum, err := digest(path)
		if err != nil {
			return &problem.Problem{Code: problem.Setting, Where: path, What: "cannot read the " + what, Why: problem.Reason(err), Fix: "check the path", Err: err}
		}
		inputs[what+" "+path] = sum
		return nil
	}
	if name, hub := strings.CutPrefix(c.Path, "hub:"); hub {
		data, _ := files.Files.ReadFile("molt/hubs/" + name + ".py")
		sum := sha256.Sum256(data)
		inputs["agent "+c.Path] = hex.EncodeToString(sum[:8])
	} else if c.Path != "" {
		beside, err := filepath.Glob(filepath.Join(filepath.Dir(c.Path), "*.py"))
		if err != nil {
			beside = nil // the folder's name is a pattern that is none
		}
		for _, path := range slices.Compact(slices.Sorted(slices.Values(append(beside, c.Path)))) {
			if err := add("agent's file", path); err != nil {
				return err
			}
		}
	}
	for what, line := range map[string]string{"agent's file": c.Command, "grader's file": c.Reward.Grader} {
		for _, path := range named(line) {
			if err := add(what, path); err != nil {
				return err
			}
		}
	}
	for what, path := range map[string]string{"workspace": c.Program.Workspace, "rubric": c.Reward.Judge.Rubric} {
		if path == "" {
			continue
		}
		if err := add(what, path); err != nil {
			return err
		}
	}
	if preset, err := command.FindPreset(c.Preset); err == nil {
		sum := sha256.Sum256(fmt.Append(nil, preset))
		inputs["preset "+c.Preset] = hex.EncodeToString(sum[:8])
	}
	return nil
}

// named are the files that a command line names, the program first where it is a script of the user's.
func named(line string) []string {
	words, err := command.Words(line)
	if err != nil {
		return nil
	}
	var paths []string
	for i, word := range words {
		if i == 0 && !strings.ContainsRune(word, filepath.Separator) {
			if at, err := exec.LookPath(word); err != nil || strings.HasPrefix(at, "/usr/") || strings.HasPrefix(at, "/bin/") {
				continue
			} else if word = at; !isScript(at) {
				continue
			}
		}
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			paths = append(paths, word)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// isScript reports whether a program is text that begins with #!.
func isScript(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var mark [2]byte
	_, err = io.ReadFull(file, mark[:])
	return err == nil && string(mark[:]) == "#!"
}

// digest is that of a file, or of the names and contents in a folder.
func digest(path string) (string, error) {
	sum, left := sha256.New(), int64(maxIdentity)
	err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(path, at)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%q %v\n", relative, entry.Type())
		if !entry.Type().IsRegular() {
			return nil
		}
		n, err := hashFile(sum, at, left)
		if left -= n; left <= 0 && err == nil {
			err = fmt.Errorf("more than %d bytes", int64(maxIdentity))
		}
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)[:8]), err
}

func hashFile(sum hash.Hash, path string, most int64) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return io.Copy(sum, io.LimitReader(file, most))
}
