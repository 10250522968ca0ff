// Scripts: files in testdata/script that run the program as a user types it. A script is commands, one a line, then the
// files that it starts with, each below a line `-- NAME --`:
//
//	exits CODE PROGRAM ARGS…   run it; the exit code must be CODE, and no output may steer a terminal
//	stdin FILE                 what the next program reads; nothing without it
//	stdout [-count=N] REGEXP   the last standard output has (N) matches; stderr likewise
//	grep REGEXP FILE, cmp A B, exists FILE…, cp A B, rm FILE, mkdir DIR, cd DIR
//	demorun DIR [hostile]      make up a run
//	nanweights DIR             make the last weight of a model NaN
//
// A `!` in front wants the opposite. Arguments are split at blanks, outside of single quotes.

package cli

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"molt/metrics/testdata/demo"
)

func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	path := moltInPath(t)
	for _, file := range scripts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			s := &script{t: t, dir: t.TempDir(), repo: repo, path: path}
			for i, line := range s.unpack(string(text)) {
				if err := s.do(line); err != nil {
					t.Fatalf("%s:%d: %s\n%v\nstandard output:\n%s\nstandard error:\n%s", file, i+1, line, err, s.last.stdout, s.last.stderr)
				}
			}
		})
	}
}

// moltInPath gives a PATH on which this test binary is called molt.
func moltInPath(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "molt")); err != nil {
		t.Fatal(err)
	}
	return dir + string(os.PathListSeparator) + os.Getenv("PATH")
}

// script is one that is running.
type script struct {
	t     *testing.T
	dir   string
	repo  string // what $REPO stands for
	path  string
	stdin string
	last  said
}

// unpack writes the script's files and gives its lines.
func (s *script) unpack(text string) []string {
	var lines []string
	name, body := "", ""
	for line := range strings.Lines(text + "--  --\n") {
		inner, begins := strings.CutPrefix(line, "-- ")
		if !begins && name == "" {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
			continue
		}
		if !begins {
			body += line
			continue
		}
		if name != "" {
			write(s.t, s.dir, name, body)
		}
		name, body = strings.TrimSpace(strings.TrimSuffix(inner, "--\n")), ""
	}
	return lines
}

var quotedOrPlain = regexp.MustCompile(`'[^']*'|\S+`)

func (s *script) do(line string) error {
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	words := quotedOrPlain.FindAllString(line, -1)
	for i, w := range words {
		words[i] = strings.ReplaceAll(strings.Trim(w, "'"), "$REPO", s.repo)
	}
	not := words[0] == "!"
	if not {
		words = words[1:]
	}
	err := s.command(words[0], words[1:])
	switch {
	case not && err == nil:
		return errors.New("it does, and should not")
	case not && errors.As(err, new(isNot)):
		return nil
	}
	return err
}

// isNot says that what a command wants is not so; other errors are mistakes of the script.
type isNot string

func (e isNot) Error() string { return string(e) }

func (s *script) command(name string, args []string) error {
	switch name {
	case "exits":
		return s.exits(args)
	case "stdout":
		return matches(s.last.stdout, args)
	case "stderr":
		return matches(s.last.stderr, args)
	case "grep":
		text, err := s.read(args[1])
		if err != nil {
			return err
		}
		return matches(text, args[:1])
	case "demorun":
		if err := os.MkdirAll(s.at(args[0]), 0o755); err != nil {
			return err
		}
		return demo.Write(s.at(args[0]), demo.Options{Seed: 3, SFTSteps: 4, Steps: 3, Hostile: len(args) > 1})
	case "nanweights":
		return nanWeights(s.at(args[0]))
	}
	return s.file(name, args)
}

// file does what concerns files.
func (s *script) file(name string, args []string) (err error) {
	switch name {
	case "stdin":
		s.stdin, err = s.read(args[0])
	case "cmp":
		var a, b string
		if a, err = s.read(args[0]); err == nil {
			b, err = s.read(args[1])
		}
		if err == nil && a != b {
			err = isNot(fmt.Sprintf("%s:\n%s\n%s:\n%s", args[0], a, args[1], b))
		}
	case "exists":
		for _, file := range args {
			if _, err := os.Stat(s.at(file)); err != nil {
				return isNot(err.Error())
			}
		}
	case "cp":
		var text string
		if text, err = s.read(args[0]); err == nil {
			err = os.WriteFile(s.at(args[1]), []byte(text), 0o644)
		}
	case "rm":
		err = os.Remove(s.at(args[0]))
	case "mkdir":
		err = os.MkdirAll(s.at(args[0]), 0o755)
	case "cd":
		s.dir = s.at(args[0])
	default:
		err = fmt.Errorf("no command %s", name)
	}
	return err
}

func (s *script) at(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, filepath.FromSlash(name))
}

// read gives a file, or what the last program wrote.
func (s *script) read(name string) (string, error) {
	switch name {
	case "stdout":
		return s.last.stdout, nil
	case "stderr":
		return s.last.stderr, nil
	}
	data, err := os.ReadFile(s.at(name))
	return string(data), err
}

func (s *script) exits(args []string) error {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	cmd := command(s.dir, args[2:]...)
	if args[1] != "molt" {
		cmd = exec.Command(args[1], args[2:]...)
		cmd.Dir = s.dir
		cmd.Env = append(os.Environ(), moltVar+"=1", "PATH="+s.path)
	}
	cmd.Stdin = strings.NewReader(s.stdin)
	s.stdin = ""
	s.last = finish(s.t, cmd)
	if s.last.code != want {
		return fmt.Errorf("exit code %d, want %d", s.last.code, want)
	}
	if i := steering(s.last.stdout + s.last.stderr); i >= 0 {
		return fmt.Errorf("%q would steer a terminal", (s.last.stdout + s.last.stderr)[i:][:1])
	}
	return nil
}

// steering is where text holds what a terminal does not simply print; -1 when it holds none.
func steering(text string) int {
	return strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) })
}

// matches wants the regular expression, line by line, in text: once or more, or exactly -count times.
func matches(text string, args []string) error {
	count, counted := "", false
	if len(args) > 1 {
		if count, counted = strings.CutPrefix(args[0], "-count="); !counted {
			return fmt.Errorf("one regular expression, and -count=N before it")
		}
		args = args[1:]
	}
	re, err := regexp.Compile("(?m)" + args[0])
	if err != nil {
		return err
	}
	n := len(re.FindAllString(text, -1))
	if n == 0 || counted && strconv.Itoa(n) != count {
		return isNot(fmt.Sprintf("%d matches", n))
	}
	return nil
}

func nanWeights(dir string) error {
	if err := os.Remove(filepath.Join(dir, "molt-manifest.json")); err != nil {
		return err
	}
	file := filepath.Join(dir, "model.safetensors")
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(data[len(data)-4:], math.Float32bits(float32(math.NaN())))
	return os.WriteFile(file, data, 0o644)
}
