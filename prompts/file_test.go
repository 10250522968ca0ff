package prompts

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// config names every key.
func config() SetConfig {
	return SetConfig{Name: "set", Path: "data.jsonl", Keys: Keys{Input: "input", Label: "label", Tools: "tools", ID: "id", Images: "images"}}
}

// bare needs nothing but an input.
func bare() SetConfig {
	return SetConfig{Name: "set", Path: "data.jsonl", Keys: Keys{Input: "input", Images: "images"}}
}

func read(t *testing.T, c SetConfig, text string) []Prompt {
	t.Helper()
	s, err := Read(strings.NewReader(text), c)
	if err != nil {
		t.Fatal(err)
	}
	return s.rows
}

func TestRead(t *testing.T) {
	got := read(t, config(), ""+
		`{"id": "a", "input": "one \u00e9", "label": "42", "tools": []}`+"\r\n"+
		"\n"+
		`{"id": 7, "label": {"b": 1e400, "a": [1, 2]}, "input": [{"role": "user",  "content": "x"}], "tools": [{"z": 1, "a": 2}], "other": 3, "images": null}`+"\n"+
		`{"tools": null, "label": 3.0, "input": "three", "id": "c"}`) // no line end
	want := []Prompt{
		{ID: "a", Source: "set", Input: "one é", Label: "42", Tools: []byte("[]")},
		{ID: "7", Source: "set", Messages: []byte(`[{"role": "user",  "content": "x"}]`), Label: `{"b": 1e400, "a": [1, 2]}`, Tools: []byte(`[{"z": 1, "a": 2}]`)},
		{ID: "c", Source: "set", Input: "three", Label: "3.0"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestReadWithoutOptionalKeys(t *testing.T) {
	got := read(t, bare(), "{\"input\": \"x\", \"id\": \"mine\", \"label\": 1}\n\n{\"input\": \"y\"}\n")
	want := []Prompt{{ID: "1", Source: "set", Input: "x"}, {ID: "3", Source: "set", Input: "y"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestMessagesKey(t *testing.T) {
	c := SetConfig{Path: "data.jsonl", Keys: Keys{Messages: "chat"}}
	got := read(t, c, `{"chat": [{"role": "user"}], "input": 7}`)
	if len(got) != 1 || string(got[0].Messages) != `[{"role": "user"}]` || got[0].Source != "data.jsonl" {
		t.Errorf("got %+v", got)
	}
}

// TestBadRows: each bad line is one sentence that names the file, the line, the field and the fix.
func TestBadRows(t *testing.T) {
	row := func(member string) string {
		return `{"id": "x", "input": "q", "label": 1, "tools": [], ` + member + `}`
	}
	for _, tc := range []struct{ name, line, want string }{
		{"missing key", `{"id": "x", "question": "q", "label": 1, "tools": []}`,
			`data.jsonl:2: key "input": missing; add it, or name the key that the rows use: "id", "label", "question", "tools"`},
		{"missing label", `{"id": "x", "input": "q", "tools": []}`, `data.jsonl:2: key "label": missing;`},
		{"missing id", `{"input": "q", "label": 1, "tools": []}`, `data.jsonl:2: key "id": missing;`},
		{"no keys", `{}`, `data.jsonl:2: key "input": missing; add it, or name the key that the rows use: this row has none`},
		{"number for text", `{"id": "x", "input": 5, "label": 1, "tools": []}`, `data.jsonl:2: key "input": a number where text or an array of messages is needed; write it as a JSON string`},
		{"null for text", `{"id": "x", "input": null, "label": 1, "tools": []}`, `key "input": null where text`},
		{"empty text", `{"id": "x", "input": " ", "label": 1, "tools": []}`, `key "input": empty; write the task, or remove the row`},
		{"no messages", `{"id": "x", "input": [], "label": 1, "tools": []}`, `key "input": no message; write at least one`},
		{"message is text", `{"id": "x", "input": [{}, "hi"], "label": 1, "tools": []}`, `key "input": message 1 is text, not an object`},
		{"tools is an object", `{"id": "x", "input": "q", "label": 1, "tools": {}}`, `key "tools": an object where an array of tool definitions is needed`},
		{"tool is a number", `{"id": "x", "input": "q", "label": 1, "tools": [1]}`, `key "tools": tool definition 0 is a number, not an object`},
		{"id is a list", `{"id": [], "input": "q", "label": 1, "tools": []}`, `key "id": not an id; write text of 1 to 256 bytes`},
		{"id is empty", `{"id": "", "input": "q", "label": 1, "tools": []}`, `key "id": not an id;`},
		{"id has a line end", `{"id": "a\nb", "input": "q", "label": 1, "tools": []}`, `key "id": not an id;`},
		{"id twice", `{"id": "ok", "input": "q", "label": 1, "tools": []}`, `data.jsonl:2: key "id": id "ok" was used on line 1; give each row its own id`},
		{"images", row(`"images": ["a.png"]`), `data.jsonl:2: key "images": holds images, which no engine here can read; remove the row`},
		{"key twice", row(`"input": "z"`), `data.jsonl:2: duplicate object member name "input"`},
		{"nested key twice", row(`"other": {"a": 1, "a": 2}`), `duplicate object member name "a"`},
		{"array", `[1]`, `data.jsonl:2: a row must be an object; write {"key": value, ...} on each line`},
		{"text", `"x"`, `a row must be an object`},
		{"not JSON", `input: q`, `data.jsonl:2: not JSON: `},
		{"single quotes", `{'input': 'q'}`, `data.jsonl:2: not JSON: `},
		{"two objects", row(`"a": 1`) + ` {}`, `data.jsonl:2: more text after the object; write one object on each line`},
		{"trailing comma", `{"input": "q",}`, `data.jsonl:2: not JSON: `},
		{"cut", `{"id": "x", "input": "q`, `data.jsonl:2: the object is cut off; write each object whole on one line`},
		{"not UTF-8", "{\"input\": \"caf\xe9\"}", `data.jsonl:2: not UTF-8 at byte 14; save the file as UTF-8`},
		{"half a pair", `{"input": "\ud800"}`, `data.jsonl:2: not JSON: invalid surrogate pair`},
		{"NUL", "{\"input\": \"\x00\"}", `data.jsonl:2: a NUL byte at byte 11; remove it`},
		{"escaped NUL", `{"input": "\\\u0000"}`, `data.jsonl:2: an escaped NUL at byte 13; remove it`},
		{"depth", strings.Repeat(`{"a":`, 100_000), `data.jsonl:2: nested deeper than 64 levels; flatten the row, or hold the value as text`},
		{"too long", `{"input": "` + strings.Repeat("x", maxLine) + `"}`, `data.jsonl:2: the line is longer than 16 MiB; split it`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			good := `{"id": "ok", "input": "good", "label": 1, "tools": []}` + "\n"
			after := `{"id": "after", "input": "good", "label": 1, "tools": []}` + "\n"
			_, err := Read(strings.NewReader(good+tc.line+"\n"+after), config())
			var p Problems
			if !errors.As(err, &p) || p.Len() != 1 {
				t.Fatalf("got %v, want one problem", err)
			}
			if got := p.List[0].String(); !strings.HasPrefix(got, "data.jsonl:2: ") || !strings.Contains(got, tc.want) || strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestEscapedBackslashIsNoNUL(t *testing.T) {
	got := read(t, bare(), `{"input": "\\u0000 \\\\u0000"}`)
	if got[0].Input != `\u0000 \\u0000` {
		t.Errorf("got %q", got[0].Input)
	}
}

func TestBadFiles(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "data.jsonl: has no rows; write one JSON object on each line"},
		{"blank", "\n \n", "data.jsonl: has no rows"},
		{"BOM", "\xef\xbb\xbf{\"input\": \"x\"}", "data.jsonl: starts with a byte order mark; save it as UTF-8 without one"},
		{"UTF-16", "\xff\xfe{\x00", "data.jsonl: is UTF-16"},
		{"gzip", "\x1f\x8b\x08\x00", "data.jsonl: is compressed; decompress it first"},
		{"parquet", "PAR1xxxx", "data.jsonl: is Parquet; convert it to JSONL"},
		{"array", "[{\"input\": \"x\"}]", "data.jsonl: is a JSON array; write one object on each line, without the brackets"},
		{"last line cut", "{\"input\": \"x\"}\n{\"input\": \"y", "data.jsonl:2: the object is cut off, on the last line, which has no line end; the file may be cut off: copy it again, or remove the line"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(tc.text), bare())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// TestAllProblemsTogether: a file with many bad rows shows the first 20 and counts the rest.
func TestAllProblemsTogether(t *testing.T) {
	_, err := Read(strings.NewReader(strings.Repeat("{}\n", 33)), bare())
	var p Problems
	if !errors.As(err, &p) || len(p.List) != 20 || p.More != 13 {
		t.Fatalf("got %v", err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 21 || !strings.Contains(lines[19], "data.jsonl:20: ") || lines[20] != "prompts: and 13 more" {
		t.Errorf("got %q", lines)
	}
}

func TestSkipBad(t *testing.T) {
	c := bare()
	c.SkipBad = true
	s, err := Read(strings.NewReader("{\"input\": \"x\"}\n{}\n{\"input\": \"y\"}\n"), c)
	if err != nil || s.Len() != 2 || s.Skipped.Len() != 1 || s.Skipped.List[0].Line != 2 {
		t.Errorf("got %+v, %v", s, err)
	}
	if _, err := Read(strings.NewReader("{}\n"), c); err == nil {
		t.Error("a file with nothing but bad rows passed")
	}
}

func TestMaxSamples(t *testing.T) {
	c := bare()
	c.MaxSamples = 2
	got := read(t, c, "{\"input\": \"x\"}\n{\"input\": \"y\"}\nnever read\n")
	if len(got) != 2 {
		t.Errorf("got %d rows", len(got))
	}
}

func TestRepeated(t *testing.T) {
	s, err := Read(strings.NewReader("{\"input\": \"x\"}\n{\"input\": \"y\"}\n{\"input\": \"x\"}\n{\"input\": \"x\"}\n"), bare())
	if err != nil || s.Repeated != 2 {
		t.Errorf("got %d repeated, %v", s.Repeated, err)
	}
}

// TestLineAtTheBound: a line of exactly the bound is read, and the line after a longer one is not lost.
func TestLineAtTheBound(t *testing.T) {
	frame := len(`{"input": ""}`) + 1 // with the line end
	fits := `{"input": "` + strings.Repeat("x", maxLine-frame) + `"}` + "\n"
	if got := read(t, bare(), fits+`{"input": "y"}`); len(got) != 2 || len(got[0].Input) != maxLine-frame {
		t.Errorf("got %d rows", len(got))
	}
	long := `{"input": "` + strings.Repeat("x", maxLine-frame+1) + `"}` + "\n"
	c := bare()
	c.SkipBad = true
	s, err := Read(strings.NewReader(long+`{"input": "y"}`), c)
	if err != nil || s.Len() != 1 || s.rows[0].Input != "y" || s.Skipped.Len() != 1 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	c := bare()
	c.Path = filepath.Join(dir, "missing.jsonl")
	if _, err := Load(c); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "missing.jsonl") {
		t.Errorf("a missing file: %v", err)
	}
	c.Path = dir
	if _, err := Load(c); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
	c.Path = filepath.Join(dir, "a.jsonl")
	if err := os.WriteFile(c.Path, []byte(`{"input": "x"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := Load(c); err != nil || s.Len() != 1 {
		t.Errorf("got %v", err)
	}
}

func TestSetConfigReportsEverythingWrong(t *testing.T) {
	c := SetConfig{Weight: -1, MaxSamples: -1}
	err := c.Validate()
	for _, want := range []string{"Path is empty", "Weight is -1", "MaxSamples is -1", "want exactly one of them"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestReadErrorIsNamed(t *testing.T) {
	broken := errors.New("disk gone")
	_, err := Read(failing{bytes.NewReader([]byte("{\"input\": \"x\"}\n")), broken}, bare())
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "data.jsonl:2") {
		t.Errorf("got %v", err)
	}
}

// failing is a reader that ends with an error.
type failing struct {
	r   *bytes.Reader
	err error
}

func (f failing) Read(p []byte) (int, error) {
	if n, err := f.r.Read(p); err == nil {
		return n, nil
	}
	return 0, f.err
}

func TestGSM8K(t *testing.T) {
	path := "../../shared/data/gsm8k/test.jsonl"
	if _, err := os.Stat(path); err != nil {
		t.Skip("the GSM8K files are not here")
	}
	s, err := Load(SetConfig{Name: "gsm8k", Path: path, Keys: Keys{Input: "question", Label: "answer"}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != 1319 || s.Repeated != 0 {
		t.Errorf("%d rows, %d repeated; want 1319 and none", s.Len(), s.Repeated)
	}
	p := s.rows[0]
	if !strings.HasPrefix(p.Input, "Janet’s ducks lay 16 eggs per day.") || !strings.HasSuffix(p.Label, "\n#### 18") {
		t.Errorf("the first row is %+v", p)
	}
}

// FuzzRow: no line makes the parser panic, and what it accepts keeps its promises.
func FuzzRow(f *testing.F) {
	for _, seed := range []string{
		`{"id": "a", "input": "x", "label": "l", "tools": [{"a": 1}]}`,
		`{"id": 7, "input": [{"role": "user", "content": "é"}], "label": {"a": [1e400]}, "tools": null}`,
		`{"id": "a", "input": "\ud83d\ude00 \\u0000", "label": null, "tools": [], "images": []}`,
		"{\"a\xff\": 1}", `{"a": "\u0000"}`, `[[[[`, `{}{}`, `{"a":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	k := config().Keys
	f.Fuzz(func(t *testing.T, line []byte) {
		p, bad := parseRow(line, &k)
		if bad != nil {
			if bad.what == "" || bad.fix == "" {
				t.Fatalf("a problem without words: %+v", bad)
			}
			return
		}
		if (p.Input == "") == (p.Messages == nil) {
			t.Fatalf("want text or messages: %+v", p)
		}
		if p.Messages != nil && !bytes.Contains(line, p.Messages) || p.Tools != nil && !bytes.Contains(line, p.Tools) {
			t.Fatalf("the bytes were changed: %+v", p)
		}
		if p.ID == "" || strings.Contains(p.Input, "\x00") {
			t.Fatalf("got %+v", p)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, `{"id": "row-%d", "input": %q, "label": "%d", "tools": []}`+"\n", i, strings.Repeat("how many eggs ", 30), i)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := Read(strings.NewReader(text.String()), config()); err != nil {
			b.Fatal(err)
		}
	}
}
