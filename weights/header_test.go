// Files that are refused, and with which words.

package weights

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// safetensors puts a header and data together.
func safetensors(header string, data int) []byte {
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), make([]byte, data)...)
}

func tensor(name, dtype, shape string, from, to uint64) string {
	return fmt.Sprintf(`%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, dtype, shape, from, to)
}

func TestMalformedFiles(t *testing.T) {
	one := tensor("x", "F32", "[2]", 0, 8)
	cases := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "file of 0 bytes is too short"},
		{"seven bytes", make([]byte, 7), "file of 7 bytes is too short"},
		{"length 2^63", append(binary.LittleEndian.AppendUint64(nil, 1<<63), '{'), "header of 9223372036854775808 bytes; at most 100000000"},
		{"length 101 MB", append(binary.LittleEndian.AppendUint64(nil, 101_000_000), '{'), "header of 101000000 bytes; at most"},
		{"header cut", safetensors("{"+one+"}", 8)[:20], "exceeds file of 20 bytes; the file is cut off"},
		{"header empty", safetensors("", 8), "does not begin with {"},
		{"header a list", safetensors("[]", 8), "does not begin with {"},
		{"header unclosed", safetensors("{"+one, 8), "header"},
		{"two objects", safetensors("{"+one+"}{}", 8), "more than one JSON object"},
		{"broken UTF-8", safetensors("{\"\xff\":1}", 8), "header"},
		{"tensor twice", safetensors("{"+one+","+one+"}", 8), "duplicate"},
		{"field twice", safetensors(`{"x":{"dtype":"F32","dtype":"F16","shape":[2],"data_offsets":[0,8]}}`, 8), "duplicate"},
		{"unknown field", safetensors(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"scale":1}}`, 8), `tensor "x": header`},
		{"no shape", safetensors(`{"x":{"dtype":"F32","data_offsets":[0,4]}}`, 4), `tensor "x": header lacks shape`},
		{"no offsets", safetensors(`{"x":{"dtype":"F32","shape":[0]}}`, 0), `tensor "x": header lacks shape or data_offsets`},
		{"three offsets", safetensors(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4,8]}}`, 8), `tensor "x": header`},
		{"negative shape", safetensors(`{"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8), `tensor "x": header`},
		{"unknown dtype", safetensors("{"+tensor("x", "F5", "[2]", 0, 8)+"}", 8), `tensor "x": dtype "F5" is unknown`},
		{"other fp8", safetensors("{"+tensor("x", "F8_E4M3FNUZ", "[8]", 0, 8)+"}", 8), `tensor "x": dtype F8_E4M3FNUZ is not supported; convert the tensor to BF16 or F32`},
		{"shape overflows", safetensors("{"+tensor("x", "F32", "[4294967296,4294967296,2]", 0, 8)+"}", 8), "holds more values than any file can"},
		{"overflow hidden by zero", safetensors("{"+tensor("x", "F32", "[0,9223372036854775808]", 0, 0)+"}", 0), "holds more values than any file can"},
		{"many dimensions", safetensors("{"+tensor("x", "F32", "[1"+strings.Repeat(",1", 99)+"]", 0, 4)+"}", 4), "more than 16 dimensions"},
		{"wrong length", safetensors("{"+tensor("x", "F32", "[3]", 0, 8)+"}", 8), "span 8 bytes but shape [3] of F32 needs 12"},
		{"backwards", safetensors("{"+tensor("x", "F32", "[2]", 8, 0)+"}", 8), "data offsets [8,0) run backwards"},
		{"past the end", safetensors("{"+one+"}", 7), `tensor "x": data offsets [0,8) exceed file of 69 bytes`},
		{"overlap", safetensors("{"+one+","+tensor("y", "F32", "[2]", 4, 12)+"}", 12), `tensor "y": data offsets [4,12) overlap tensor "x", which ends at 8`},
		{"same place", safetensors("{"+one+","+tensor("y", "F32", "[2]", 0, 8)+"}", 8), "overlap"},
		{"gap", safetensors("{"+tensor("x", "F32", "[2]", 4, 12)+"}", 12), "leave a gap of 4 bytes"},
		{"bytes left over", safetensors("{"+one+"}", 12), "4 bytes after the last tensor"},
		{"long name", safetensors("{"+tensor(strings.Repeat("n", 2000), "F32", "[2]", 0, 8)+"}", 8), "name of 2000 bytes"},
		{"metadata", safetensors(`{"__metadata__":[],`+one+"}", 8), "__metadata__ must be an object"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model.safetensors")
			put(t, path, c.file)
			f, err := Open(path)
			if err == nil {
				f.Close()
				t.Fatal("was accepted")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "model.safetensors: ") {
				t.Errorf("got %v\nwant a sentence with %q", err, c.want)
			}
		})
	}
}

func TestWellFormedFiles(t *testing.T) {
	for name, file := range map[string][]byte{
		"no tensors":      safetensors(`{}`, 0),
		"padded":          safetensors("{"+tensor("x", "F32", "[2]", 0, 8)+"}   ", 8),
		"metadata":        safetensors(`{"__metadata__":{"format":"pt"},`+tensor("x", "BF16", "[2,2]", 0, 8)+"}", 8),
		"out of order":    safetensors("{"+tensor("b", "F16", "[2]", 4, 8)+","+tensor("a", "F32", "[]", 0, 4)+"}", 8),
		"nothing between": safetensors("{"+tensor("a", "F32", "[1]", 0, 4)+","+tensor("z", "F32", "[0,7]", 4, 4)+","+tensor("b", "I64", "[1]", 4, 12)+"}", 12),
	} {
		if _, err := parse(file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTruncation: a file that is cut anywhere is refused.
func TestTruncation(t *testing.T) {
	file, _ := sample(t)
	for n := range file {
		if _, err := parse(file[:n]); err == nil {
			t.Fatalf("cut to %d of %d bytes was accepted", n, len(file))
		}
	}
}

// sample returns a file written by us, and its tensors.
func sample(t testing.TB) ([]byte, []Tensor) {
	t.Helper()
	tensors := []Tensor{
		{"a", []int{2, 3}, []float32{0, -1, 1.5, 1e-40, 3e38, -0.25}},
		{"empty", []int{0, 4}, nil},
		{"scalar", nil, []float32{7}},
		{"ünï", []int{1}, []float32{float32(math.Copysign(0, -1))}},
	}
	path := filepath.Join(t.TempDir(), "s.safetensors")
	digests, err := writeOne(path, tensors)
	if err != nil {
		t.Fatal(err)
	}
	if len(digests) != len(tensors) || combine(digests) != Fingerprint(tensors) {
		t.Error("the writer's digests are not those of Fingerprint")
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file, tensors
}

func TestWriteReadRoundTrip(t *testing.T) {
	file, tensors := sample(t)
	path := filepath.Join(t.TempDir(), "s.safetensors")
	put(t, path, file)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := f.Names(); !slices.Equal(got, []string{"a", "empty", "scalar", "ünï"}) {
		t.Errorf("names %q", got)
	}
	if n := binary.LittleEndian.Uint64(file); n%8 != 0 {
		t.Errorf("data begins at %d, which is no multiple of 8", n+8)
	}
	var read []Tensor
	for _, want := range tensors {
		got, err := f.Tensor(want.Name)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Shape, want.Shape) || !slices.Equal(got.Data, want.Data) {
			t.Errorf("%q: got %v %v, want %v %v", want.Name, got.Shape, got.Data, want.Shape, want.Data)
		}
		read = append(read, got)
	}
	if Fingerprint(read) != Fingerprint(tensors) {
		t.Error("the fingerprint changed on the way")
	}
	if err := f.Read("a", make([]float32, 5)); err == nil || !strings.Contains(err.Error(), "holds 6 values, not 5") {
		t.Errorf("got %v", err)
	}
	if _, err := f.Tensor("nobody"); err == nil || !strings.Contains(err.Error(), `"nobody" is not in the file`) {
		t.Errorf("got %v", err)
	}
}

// TestCutWhileOpen: a file that another process truncates gives an error, not a crash.
func TestCutWhileOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("files are mapped on Linux only")
	}
	path := filepath.Join(t.TempDir(), "s.safetensors")
	if _, err := writeOne(path, []Tensor{{"x", []int{1 << 16}, make([]float32, 1<<16)}}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Tensor("x"); err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("got %v", err)
	}
}

func TestNotARegularFile(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
}

func TestWriteRefusals(t *testing.T) {
	nan := float32(0)
	nan /= nan
	for name, c := range map[string]struct {
		tensors []Tensor
		want    string
	}{
		"NaN":      {[]Tensor{{"x", []int{3}, []float32{0, 1, nan}}}, `tensor "x": value 2 is NaN`},
		"twice":    {[]Tensor{{"x", nil, []float32{1}}, {"x", nil, []float32{1}}}, `tensor "x": `},
		"shape":    {[]Tensor{{"x", []int{4}, []float32{1}}}, `tensor "x": shape [4] needs 4 values, not 1`},
		"negative": {[]Tensor{{"x", []int{-1}, nil}}, `shape [-1] is not possible`},
		"overflow": {[]Tensor{{"x", []int{1 << 40, 1 << 40}, nil}}, `is not possible`},
	} {
		path := filepath.Join(t.TempDir(), "x.safetensors")
		if _, err := writeOne(path, c.tensors); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: something was written", name)
		}
	}
}

func put(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// FuzzParse: a header is refused, or every byte of the data belongs to exactly one tensor.
func FuzzParse(f *testing.F) {
	file, _ := sample(f)
	f.Add(file)
	f.Add(safetensors(`{"__metadata__":{"format":"pt"},`+tensor("x", "BF16", "[2,2]", 0, 8)+"}", 8))
	f.Add(safetensors("{"+tensor("b", "F16", "[2]", 4, 8)+","+tensor("a", "F32", "[]", 0, 4)+"}", 8))
	f.Fuzz(func(t *testing.T, file []byte) {
		l, err := parse(file)
		if err != nil {
			return
		}
		covered := uint64(0)
		for _, p := range l.tensors {
			covered += uint64(len(l.data[p.from:p.to]))
			if p.to-p.from != uint64(p.count*dtypeBytes[p.dtype]) {
				t.Errorf("tensor %q: %d values of %s in %d bytes", p.name, p.count, p.dtype, p.to-p.from)
			}
			_ = Decode(make([]float32, p.count), l.data[p.from:p.to], p.dtype)
		}
		if covered != uint64(len(l.data)) {
			t.Errorf("tensors cover %d of %d bytes", covered, len(l.data))
		}
	})
}
