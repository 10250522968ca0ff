// Measuring the embedded engine on this machine, and PyTorch beside it: each round runs ours and then the peer's, so that
// what else the machine does meets both. work.go says what is run, peer.go speaks to the peer.

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"molt/internal/spell"
	"molt/metrics"
	"molt/run/machine"
	"molt/run/problem"
)

// Config says what to measure.
type Config struct {
	Name    string // gemm, generate, train or algo
	Shape   string // quickstart or 28m; "" measures both
	Threads int    // 0 takes all cores; algo has one
	Peer    string // a Python with PyTorch; "" measures ours alone
	Rounds  int    // runs of each; 0 takes 5
}

// Result is what was measured.
type Result struct {
	Bench   string          `json:"bench"`
	Unit    string          `json:"unit"`
	Machine metrics.Machine `json:"machine"`
	Load    float64         `json:"load"` // processes that wanted to run before the first round, a minute's mean; 0 where unknown
	Rounds  int             `json:"rounds"`
	Peer    string          `json:"peer,omitempty"`    // what the peer is
	NoPeer  string          `json:"no_peer,omitempty"` // why there is none although one was asked for
	Rows    []Row           `json:"rows"`

	PerMillion  float64  `json:"ms_per_million_tokens,omitzero"` // algo: of the first row
	Allocations *float64 `json:"allocations_per_token,omitempty"`
}

// Row is one workload. Rates are in the result's unit.
type Row struct {
	Name  string  `json:"name"`
	Ours  Rate    `json:"ours"`
	Peer  *Rate   `json:"peer,omitempty"`
	Ratio float64 `json:"ratio,omitzero"` // ours by the peer's, medians

	Compared int     `json:"figures_compared,omitzero"` // what both computed and agree on
	Apart    float64 `json:"figures_apart,omitzero"`    // the largest difference, as a share of the figure
}

// Rate is the middle and the range of several runs.
type Rate struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Run measures. say is told about progress.
func Run(ctx context.Context, c Config, say func(string)) (*Result, error) {
	if c.Threads == 0 && c.Name == "algo" {
		c.Threads = 1
	}
	if c.Threads == 0 {
		c.Threads = runtime.GOMAXPROCS(0)
	}
	if c.Rounds == 0 {
		c.Rounds = 5
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	return c.run(ctx, workloads(c), say)
}

func (c Config) run(ctx context.Context, works []*workload, say func(string)) (*Result, error) {
	r := &Result{Bench: c.Name, Unit: benchUnits[c.Name], Machine: machine.Here(c.Threads), Load: load(), Rounds: c.Rounds}
	p, err := openPeer(ctx, c)
	if err != nil {
		r.NoPeer = err.Error()
	} else if p != nil {
		defer p.close()
		r.Peer = p.name
	}
	for _, w := range works {
		say(fmt.Sprintf("%s %s", c.Name, w.name))
		row, err := measure(ctx, w, p, c)
		if lost := (*peerError)(nil); errors.As(err, &lost) {
			r.NoPeer, p = lost.Error(), nil
			row, err = measure(ctx, w, nil, c)
		}
		if err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, row)
	}
	if c.Name == "algo" {
		r.PerMillion = 1e9 / r.Rows[0].Ours.Median
		r.Allocations = new(allocationsPerToken())
	}
	return r, nil
}

// peerError says why the peer did not run a workload; ours goes on without it.
type peerError struct{ why error }

func (e *peerError) Error() string { return e.why.Error() }

var benchUnits = map[string]string{"gemm": "GFLOP/s", "generate": "tokens/s", "train": "tokens/s", "algo": "tokens/s"}

func (c *Config) validate() error {
	names := []string{"gemm", "generate", "train", "algo"}
	switch {
	case !slices.Contains(names, c.Name):
		return &problem.Problem{Code: problem.Usage, What: fmt.Sprintf("no benchmark %q", c.Name) + spell.DidYouMean(c.Name, names), Fix: "choose one of " + strings.Join(names, ", ")}
	case c.Threads < 1 || c.Threads > 1024:
		return &problem.Problem{Code: problem.Setting, What: fmt.Sprintf("--threads is %d", c.Threads), Fix: "give it 1 to 1024, or 0 for all cores"}
	case c.Rounds < 1 || c.Rounds > 1000:
		return &problem.Problem{Code: problem.Setting, What: fmt.Sprintf("--rounds is %d", c.Rounds), Fix: "give it 1 to 1000"}
	case c.Name == "algo" && c.Threads != 1:
		return &problem.Problem{Code: problem.Combined, What: "--threads has no effect on algo, which runs on one core", Fix: "leave it out"}
	case c.Name == "algo" && c.Shape != "":
		return &problem.Problem{Code: problem.Combined, What: "--shape has no effect on algo, in which there is no model", Fix: "leave it out"}
	case c.Name == "gemm" && c.Shape != "":
		return &problem.Problem{Code: problem.Combined, What: "--shape has no effect on gemm, whose products are those of both shapes", Fix: "leave it out"}
	}
	return nil
}

// measure runs a workload once to warm up, then in rounds.
func measure(ctx context.Context, w *workload, p *peer, c Config) (Row, error) {
	row := Row{Name: w.name}
	step, closeStep, err := w.open(c.Threads)
	if err != nil {
		return row, fmt.Errorf("bench: bench %s: %w", w.name, err)
	}
	defer closeStep()
	var ours, theirs []float64
	var figures map[string]float64
	for round := range c.Rounds + 1 {
		if err := ctx.Err(); err != nil {
			return row, &problem.Problem{Code: problem.Interrupted, What: "interrupted", Fix: "run it again", Err: err}
		}
		if p != nil {
			time.Sleep(peerCalm)
		}
		start := time.Now()
		if err := step(round); err != nil {
			return row, fmt.Errorf("bench: bench %s: %w", w.name, err)
		}
		took := time.Since(start).Seconds()
		var peerTook float64
		if p != nil {
			if peerTook, figures, err = p.run(w); err != nil {
				return row, &peerError{err}
			}
		}
		if round > 0 {
			ours, theirs = append(ours, w.amount/took), append(theirs, w.amount/peerTook) // without a peer, theirs is not read
		}
	}
	row.Ours = rate(ours)
	if p != nil {
		row.Peer = new(rate(theirs))
		row.Ratio = row.Ours.Median / row.Peer.Median
	}
	if p != nil && w.figures != nil {
		mine := w.figures()
		row.Compared = len(mine)
		if row.Apart, err = agree(mine, figures, w.within); err != nil {
			return row, err
		}
	}
	return row, nil
}

// peerCalm lets the peer's threads, which spin for a while after their work, go to sleep.
const peerCalm = 300 * time.Millisecond

func rate(runs []float64) Rate {
	slices.Sort(runs)
	middle := runs[len(runs)/2]
	if len(runs)%2 == 0 {
		middle = (middle + runs[len(runs)/2-1]) / 2
	}
	return Rate{Median: middle, Low: runs[0], High: runs[len(runs)-1]}
}

// load is the one-minute load average.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	var l float64
	if _, err := fmt.Sscan(string(text), &l); err != nil {
		return 0
	}
	return l
}

// String is the table.
func (r *Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: %s, %d threads, %s; load %.1f; median of %d (lowest to highest)\n", r.Bench, r.Unit, r.Machine.CPU, r.Machine.Threads, r.Machine.Kernels, r.Load, r.Rounds)
	if r.Peer != "" {
		fmt.Fprintf(&b, "beside it, in the same rounds: %s, as many threads\n", r.Peer)
	}
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "  %-34s %s", row.Name, row.Ours)
		if row.Peer != nil {
			fmt.Fprintf(&b, "   peer %s   ratio %.2f", row.Peer, row.Ratio)
		}
		if row.Compared > 0 {
			fmt.Fprintf(&b, "   %d figures agree within %.1g", row.Compared, row.Apart)
		}
		b.WriteByte('\n')
	}
	if r.Allocations != nil {
		fmt.Fprintf(&b, "%.1f ms for a million tokens, %g allocations a token\n", r.PerMillion, *r.Allocations)
	}
	if r.busy() {
		fmt.Fprintf(&b, "the machine is busy: %.1f processes want its %d cores, so all rates are too low", r.Load, r.Machine.Cores)
		if r.Peer != "" && r.Machine.Threads > 1 {
			b.WriteString(", and the peer's most, whose threads wait for each other: compare with --threads 1")
		}
		b.WriteByte('\n')
	}
	if r.NoPeer != "" {
		fmt.Fprintf(&b, "no peer: %s\n", r.NoPeer)
	}
	return b.String()
}

// busy reports whether others took cores away.
func (r *Result) busy() bool { return r.Load > float64(r.Machine.Cores)/4 }

func (r Rate) String() string {
	return fmt.Sprintf("%9s (%s to %s)", figure(r.Median), figure(r.Low), figure(r.High))
}

// figure writes three digits or whole numbers.
func figure(x float64) string {
	if x >= 1000 {
		return spell.Thousands(int64(x + 0.5))
	}
	return fmt.Sprintf("%.3g", x)
}
