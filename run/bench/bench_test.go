package bench

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRate(t *testing.T) {
	if got := rate([]float64{3, 1, 2}); got != (Rate{2, 1, 3}) {
		t.Error(got)
	}
	if got := rate([]float64{4, 1, 2, 3}); got != (Rate{2.5, 1, 4}) {
		t.Error(got)
	}
}

// fakePeer is a shell script in place of a Python.
func fakePeer(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// benchWith runs a workload of 100 tokens that takes no time.
func benchWith(t *testing.T, peer string) *Result {
	t.Helper()
	steps, closed := 0, false
	w := &workload{name: "nothing", amount: 100, open: func(int) (func(int) error, func(), error) {
		return func(int) error { steps++; return nil }, func() { closed = true }, nil
	}}
	c := Config{Name: "train", Threads: 1, Rounds: 2, Peer: peer}
	r, err := c.run(context.Background(), []*workload{w}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 1 || !(r.Rows[0].Ours.Low > 0) || r.Rows[0].Ours.Median < r.Rows[0].Ours.Low || steps < 3 || !closed {
		t.Fatalf("%+v after %d steps, closed %v", r, steps, closed)
	}
	return r
}

// TestPeerIsMeasuredBeside: its seconds become a rate over the same amount of work, and the ratio follows.
func TestPeerIsMeasuredBeside(t *testing.T) {
	r := benchWith(t, fakePeer(t, `echo '{"name": "a peer"}'
while read line; do echo '{"seconds": 2}'; done`))
	row := r.Rows[0]
	if r.Peer != "a peer" || r.NoPeer != "" || row.Peer == nil || row.Peer.Median != 50 {
		t.Fatalf("%+v with %+v", r, row.Peer)
	}
	if row.Ratio != row.Ours.Median/row.Peer.Median {
		t.Errorf("ratio %v", row.Ratio)
	}
}

// TestBenchGoesOnAlone: whatever is wrong with the peer is one sentence beside our rates.
func TestBenchGoesOnAlone(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"no torch", `echo '{"missing": "No module named torch"}'`, "has no PyTorch: No module named torch"},
		{"silent", `exit 0`, "it ended without an answer"},
		{"chatty", `echo hello`, `its answer is not JSON: "hello`},
		{"endless", `while true; do printf xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done`, "it answers with more than 65536 bytes"},
		{"fails", `echo '{"name": "a peer"}'; read line; echo '{"error": "out of memory"}'`, "out of memory"},
		{"dies", `echo '{"name": "a peer"}'; read line`, "it ended without an answer"},
	} {
		r := benchWith(t, fakePeer(t, c.script))
		if !strings.Contains(r.NoPeer, c.want) || r.Rows[0].Peer != nil || !strings.Contains(r.String(), "no peer: ") {
			t.Errorf("%s: %q\n%s", c.name, r.NoPeer, r)
		}
	}
}

// TestWorkloadsRun: each says how much it does, for both shapes and all products.
func TestWorkloadsRun(t *testing.T) {
	for name, want := range map[string]int{"gemm": len(products), "generate": 2, "train": 2} {
		works := workloads(Config{Name: name})
		if len(works) != want {
			t.Errorf("%s has %d workloads, want %d", name, len(works), want)
		}
		for _, w := range works {
			if !(w.amount > 0) || w.peer.Bench != name || w.name == "" {
				t.Errorf("%s: %+v", name, w)
			}
		}
	}
	if works := workloads(Config{Name: "train", Shape: "28m"}); len(works) != 1 || works[0].peer.Shape.Params < 27e6 || works[0].peer.Shape.Params > 29e6 {
		t.Errorf("%+v", works)
	}
}

// TestAlgoComputesWhatThePeerDoes: figures that agree are counted, one that does not ends the benchmark.
func TestAlgoComputesWhatThePeerDoes(t *testing.T) {
	w := newAlgoWork(16, 10)
	w.run()
	figures := w.figures()
	if len(figures) != 18 || figures["filtered"] == 0 || figures["clipped_high"] == 0 || figures["clipped_low"] == 0 || figures["lag0_tokens"] != 160 {
		t.Fatalf("%v: something is never exercised", figures)
	}
	near := maps.Clone(figures)
	near["loss"] *= 1 + 1e-6
	if apart, err := agree(figures, near, 1e-5); err != nil || !(apart > 9e-7 && apart < 2e-6) {
		t.Errorf("apart %v, %v", apart, err)
	}
	for name, change := range map[string]func(map[string]float64){
		"wrong":   func(f map[string]float64) { f["loss"] *= 1.001 },
		"missing": func(f map[string]float64) { delete(f, "loss") },
		"NaN":     func(f map[string]float64) { f["loss"] = math.NaN() },
	} {
		other := maps.Clone(figures)
		change(other)
		if _, err := agree(figures, other, 1e-5); err == nil || !strings.Contains(err.Error(), "bench: loss is") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAlgoAllocatesNothingByTheToken(t *testing.T) {
	if a, b := allocations(newAlgoWork(16, 10)), allocations(newAlgoWork(16, 100)); a != b {
		t.Errorf("%d allocations for 160 tokens, %d for 1600", a, b)
	}
}

func TestAlgoHasOneThreadAndNoShape(t *testing.T) {
	for _, c := range []Config{{Name: "algo", Threads: 2}, {Name: "algo", Shape: "28m"}} {
		if _, err := Run(context.Background(), c, func(string) {}); err == nil || !strings.Contains(err.Error(), "has no effect on algo") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
