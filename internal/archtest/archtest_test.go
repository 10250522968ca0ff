package archtest

import (
	"os"
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
	problems, err := plan.Check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
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
			problems, err := plan.Check(tree)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(problems, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
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
	problems, err := plan.Check(fstest.MapFS{"traj/traj.go": {Data: []byte("package traj")}})
	if err != nil || len(problems) != 1 || problems[0] != "room traj has no doc.go" {
		t.Errorf("got %q, %v", problems, err)
	}
}

func TestPlanIsPureTransitively(t *testing.T) {
	_, err := parse("algo: pure traj\ntraj: std")
	if err == nil || !strings.Contains(err.Error(), "room algo is pure and may import traj, which is not") {
		t.Errorf("got %v", err)
	}
}
