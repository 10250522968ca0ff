package archtest

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestHouse is the law: the tree as it is keeps the plan.
func TestHouse(t *testing.T) {
	plan, err := Rooms()
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(plan.Check(files), plan.Unused(files)...) {
		t.Error(p)
	}
}

func TestCheckNamesEachViolation(t *testing.T) {
	const text = `
algo: pure traj
traj: pure
run:  std traj +example.com/yaml/...
tests: std +example.com/rapid
`
	doc := &fstest.MapFile{Data: []byte("package x")}
	cases := []struct{ name, file, src, want string }{
		{"pure room, pure import", "algo/a.go", `import "math"`, ""},
		{"pure room, own room", "algo/a.go", `import "molt/traj"`, ""},
		{"pure room reads a clock", "algo/a.go", `import "time"`, "algo/a.go: room algo may not import time"},
		{"pure room does I/O", "algo/a.go", `import "os"`, "algo/a.go: room algo may not import os"},
		{"import against the stream", "traj/a.go", `import "molt/run"`, "traj/a.go: room traj may not import molt/run"},
		{"std is not for strangers", "run/a.go", `import "example.com/other"`, "run/a.go: room run may not import example.com/other"},
		{"tree from outside", "run/a.go", `import "example.com/yaml/ast"`, ""},
		{"a test may do I/O", "algo/a_test.go", `import "os"`, ""},
		{"a test may use its tools", "algo/a_test.go", `import "example.com/rapid"`, ""},
		{"a test may not use anything", "algo/a_test.go", `import "example.com/yaml"`, "algo/a_test.go: room algo may not import example.com/yaml"},
		{"a room without a line", "utils/a.go", `import "os"`, "utils/a.go: room utils has no line"},
	}
	plan, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			room, _, _ := strings.Cut(c.file, "/")
			tree := fstest.MapFS{c.file: {Data: []byte("package x\n" + c.src)}}
			if c.want == "" || !strings.Contains(c.want, "no line") {
				tree[room+"/doc.go"] = doc
			}
			files, err := Files(tree)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(plan.Check(files), "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRoomWithoutDoc(t *testing.T) {
	plan, err := parse("traj: pure")
	if err != nil {
		t.Fatal(err)
	}
	if got := plan.Check([]File{{Name: "traj/traj.go"}}); !slices.Equal(got, []string{"room traj has no doc.go"}) {
		t.Errorf("got %q", got)
	}
}

func TestUnusedPermissions(t *testing.T) {
	plan, err := parse(`
traj:  pure
algo:  pure traj encoding/json/v2
run:   std traj algo +example.com/yaml/... +example.com/flock
empty: std
tests: std +example.com/rapid
`)
	if err != nil {
		t.Fatal(err)
	}
	got := plan.Unused([]File{
		{"traj/traj.go", nil},
		{"algo/a.go", []string{"molt/traj", "math"}},
		{"run/a.go", []string{"molt/traj", "example.com/yaml/ast"}},
		{"run/b.go", []string{"example.com/yamls"}},
		{"run/a_test.go", []string{"molt/algo", "example.com/flock"}},
	})
	want := []string{
		"room algo may import encoding/json/v2 and does not (internal/archtest/rooms.txt)",
		"room empty has a line in internal/archtest/rooms.txt and no file",
		"room run may import algo and does not (internal/archtest/rooms.txt)",
		"room run may import example.com/flock and does not (internal/archtest/rooms.txt)",
		"room tests may import example.com/rapid and does not (internal/archtest/rooms.txt)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestPlanIsPureTransitively(t *testing.T) {
	_, err := parse("algo: pure traj\ntraj: std")
	if err == nil || !strings.Contains(err.Error(), "room algo is pure and may import traj, which is not") {
		t.Errorf("got %v", err)
	}
}
