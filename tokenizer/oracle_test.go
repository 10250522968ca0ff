// The Rust library, asked live. Opt-in: MOLT_TOKENIZER_ORACLE names a Python that has the package tokenizers.

package tokenizer_test

import (
	"bufio"
	"encoding/json/v2"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type oracleServer struct {
	in  io.WriteCloser
	out *bufio.Reader
}

type question struct {
	Text *string `json:"text,omitzero"`
	IDs  []int32 `json:"ids,omitzero"`
}

type answer struct {
	IDs   []int32 `json:"ids"`
	Plain string  `json:"plain"`
}

func (o *oracleServer) ask(t *rapid.T, q question) (a answer) {
	line, err := json.Marshal(q)
	if err == nil {
		_, err = o.in.Write(append(line, '\n'))
	}
	if err != nil {
		t.Fatal(err)
	}
	reply, err := o.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(reply, &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func startOracle(t *testing.T, python, file string) *oracleServer {
	t.Helper()
	cmd := exec.Command(python, filepath.Join("..", "scripts", "goldens", "tokenizer", "serve.py"), file)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return &oracleServer{in, bufio.NewReader(out)}
}

func TestLikeLiveOracle(t *testing.T) {
	python := os.Getenv("MOLT_TOKENIZER_ORACLE")
	if python == "" {
		t.Skip("MOLT_TOKENIZER_ORACLE is not set to a Python that has the package tokenizers")
	}
	files := map[string][]byte{}
	for name, source := range sources(t) {
		files[name] = source
	}
	cached, _ := filepath.Glob(filepath.Join(realFolder(t), "*", "tokenizer.json"))
	for _, file := range cached {
		files[filepath.Base(filepath.Dir(file))] = read(t, file)
	}
	for name, source := range files {
		t.Run(name, func(t *testing.T) {
			tok := load(t, source)
			file := filepath.Join(t.TempDir(), "tokenizer.json")
			if err := os.WriteFile(file, source, 0o666); err != nil {
				t.Fatal(err)
			}
			oracle := startOracle(t, python, file)
			pieces := slices.Concat(hostile(t), harmless)
			for _, a := range tok.AddedTokens() {
				pieces = append(pieces, a.Content)
			}
			text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 6), func(s []string) string { return strings.Join(s, "") }))
			ids := rapid.SliceOf(rapid.Int32Range(0, int32(tok.VocabSize()-1)))
			rapid.Check(t, func(t *rapid.T) {
				s := toValid(text.Draw(t, "text"))
				want := oracle.ask(t, question{Text: &s})
				if got := tok.EncodeSpecial(s); !slices.Equal(got, want.IDs) {
					t.Fatalf("ids of %q: got %v, want %v", s, got, want.IDs)
				}
				if got := tok.Decode(want.IDs); got != want.Plain {
					t.Fatalf("text of %q: got %q, want %q", s, got, want.Plain)
				}
				list := ids.Draw(t, "ids")
				if got, want := streamed(tok, list), oracle.ask(t, question{IDs: list}).Plain; len(list) > 0 && got != want {
					t.Fatalf("text of %v: got %q, want %q", list, got, want)
				}
			})
		})
	}
}

func toValid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
