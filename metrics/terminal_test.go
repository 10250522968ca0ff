package metrics

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// story is a short run as a terminal sees it: two phases, an alarm, an end.
func story(emit func(Event, time.Duration)) {
	emit(RunStarted{Name: "shop\x1b[2J", Method: "grpo", Seed: 7, Model: Model{Params: 452992}, Machine: Machine{CPU: "Example CPU", Threads: 2},
		Plan: Plan{SFTSteps: 3, Steps: 4, Groups: 16, Samples: 8}}, 0)
	for step := range int64(3) {
		emit(SFTStep{Step: step + 1, Loss: 3 - float64(step), GradNorm: 1.5, LearningRate: 0.003, Tokens: 880, WallSeconds: 0.05}, 600*time.Millisecond)
	}
	emit(EvalDone{Name: "held_out", Temperature: 1, N: 256, Samples: 1, PassAt1: 0.18}, 700*time.Millisecond)
	for step := range int64(4) {
		emit(StepDone{
			Step: step + 1, Groups: 16, Filtered: map[string]int{"no signal": int(step)}, Outcomes: map[string]int{"completed": 127, "timeout": 1},
			Reward: Describe([]float64{0.25 * float64(step), 0.5}), Turns: Describe([]float64{4}), ActionTokens: Describe([]float64{70}), Lag: Describe([]float64{0, 1}),
			Loss: -0.0123, Entropy: new(0.31), Ratio: &Divergence{K3: 2e-4}, Mismatch: &Divergence{}, ClipFraction: new(0.001),
			GeneratedPerSec: 10234, TrainedPerSec: 12100,
		}, 1500*time.Millisecond)
		if step == 1 {
			emit(EvalDone{Step: 2, Name: "held_out", Temperature: 1, N: 256, Samples: 1, PassAt1: 0.9375}, 700*time.Millisecond)
			emit(CheckpointSaved{Step: 2, Keep: "best", Path: "checkpoints/step-2", Score: new(0.9375)}, 0)
			emit(Alarm{Name: "lag-over-bound", Severity: Warning, Step: 2, Sentence: "1 of 128 rollouts was too old.", Fix: "raise the bound"}, 0)
		}
	}
	emit(RunEnded{Outcome: "stopped", Reason: "interrupted", Resume: "molt rl --resume runs/shop", Seconds: 9}, 0)
}

// play feeds the story to the state and writes down what appears.
func play(style Style, width, height int) string {
	var out strings.Builder
	p := progress{style: style}
	now := time.Date(2026, 11, 30, 18, 25, 3, 0, time.UTC)
	story(func(e Event, after time.Duration) {
		now = now.Add(after)
		for _, l := range p.apply(Record{Time: now, Event: e}) {
			fmt.Fprintln(&out, l)
		}
		if style.Live {
			for _, l := range p.block(now.Add(200*time.Millisecond), width, height) {
				fmt.Fprintln(&out, "    "+l)
			}
		}
	})
	return out.String()
}

func TestPlainLines(t *testing.T) {
	golden(t, "terminal.plain.txt", []byte(play(Style{}, 80, 24)))
}

func TestLiveBlock(t *testing.T) {
	golden(t, "terminal.live.txt", []byte(play(Style{Live: true, Unicode: true}, 79, 22)))
	golden(t, "terminal.color.txt", []byte(play(Style{Live: true, Unicode: true, Color: true}, 79, 22)))
}

func TestBlockFitsTheScreen(t *testing.T) {
	for _, size := range [][2]int{{79, 22}, {40, 5}, {10, 1}, {1, 1}, {200, 60}} {
		p := progress{style: Style{Live: true, Unicode: true}}
		now := time.Unix(0, 0)
		story(func(e Event, after time.Duration) {
			now = now.Add(after)
			p.apply(Record{Time: now, Event: e})
			block := p.block(now, size[0], size[1])
			if len(block) > size[1] {
				t.Errorf("%v: %d lines", size, len(block))
			}
			for _, l := range block {
				if columns(l) > size[0] {
					t.Errorf("%v: %q takes %d cells", size, l, columns(l))
				}
			}
		})
	}
}

func TestNoEscapeByteWhenPiped(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"TERM": "xterm-256color", "LANG": "C.UTF-8"}
	term := NewTerminal(w, DetectStyle(w, func(name string) string { return env[name] }))
	read := make(chan []byte)
	go func() { // ends when the pipe closes; the test waits for read
		text, _ := io.ReadAll(r)
		read <- text
	}()
	story(func(e Event, _ time.Duration) {
		if err := term.Write(Record{Time: time.Now(), Event: e}); err != nil {
			t.Error(err)
		}
	})
	fmt.Fprintf(term.Lines(), "a log line \x1b[31m\n")
	closeOrFail(t, term)
	closeOrFail(t, w)
	text := <-read
	if bytes.ContainsRune(text, 0x1b) || bytes.ContainsRune(text, '\r') {
		t.Errorf("escape bytes in %q", text)
	}
	if n := bytes.Count(text, []byte("rl step")); n != 4 {
		t.Errorf("%d lines of steps, want 4:\n%s", n, text)
	}
}

func TestStyleFollowsTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		tty  bool
		env  map[string]string
		want Style
	}{
		{true, nil, Style{Live: true, Color: true, Unicode: true}},
		{false, nil, Style{Unicode: true}},
		{true, map[string]string{"TERM": "dumb"}, Style{Unicode: true}},
		{true, map[string]string{"NO_COLOR": "1"}, Style{Live: true, Unicode: true}},
		{false, map[string]string{"CLICOLOR_FORCE": "1"}, Style{Color: true, Unicode: true}},
		{false, map[string]string{"CLICOLOR_FORCE": "0"}, Style{Unicode: true}},
		{false, map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, Style{Unicode: true}},
		{true, map[string]string{"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, Style{Live: true, Color: true}},
	} {
		got := style(c.tty, func(name string) string { return c.env[name] })
		if got.Live != c.want.Live || got.Color != c.want.Color || got.Unicode != c.want.Unicode {
			t.Errorf("terminal %v, %v: %+v, want %+v", c.tty, c.env, got, c.want)
		}
	}
}

// screen applies the escapes that Terminal uses and shows what a person would see.
func screen(t *testing.T, text string) string {
	var lines []string
	row := 0
	put := func(s string) {
		for len(lines) <= row {
			lines = append(lines, "")
		}
		lines[row] = s
	}
	for text != "" {
		var n int
		switch {
		case strings.HasPrefix(text, "\x1b[J"):
			lines = lines[:min(row, len(lines))]
			text = text[3:]
		case strings.HasPrefix(text, "\x1b["):
			if _, err := fmt.Sscanf(text, "\x1b[%dA\r", &n); err != nil {
				t.Fatalf("unknown escape in %q", text)
			}
			row -= n
			text = text[strings.Index(text, "\r")+1:]
		default:
			line, rest, _ := strings.Cut(text, "\n")
			put(strings.TrimSuffix(line, "\x1b[K"))
			row++
			text = rest
		}
	}
	return strings.Join(lines, "\n")
}

func TestLiveTerminalRedrawsInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		term := NewTerminal(&out, Style{Live: true, Unicode: true})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- term.Run(ctx) }() // ends with ctx; the test waits for done
		story(func(e Event, after time.Duration) {
			time.Sleep(after)
			if err := term.Write(Record{Time: time.Now(), Event: e}); err != nil {
				t.Error(err)
			}
		})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		closeOrFail(t, term)
		seen := screen(t, out.String())
		if strings.Contains(seen, "rl 4/4") || !strings.HasSuffix(seen, "resume: molt rl --resume runs/shop") {
			t.Errorf("the block is left behind, or the end is missing:\n%s", seen)
		}
		for _, want := range []string{"eval held_out after step 2: 93.8 %", "ALARM warning lag-over-bound", `shop\x1b[2J`} {
			if strings.Count(seen, want) != 1 {
				t.Errorf("%q is there %d times:\n%s", want, strings.Count(seen, want), seen)
			}
		}
	})
}

// stuck is a terminal whose owner pressed Ctrl-S.
type stuck struct{ release chan struct{} }

func (s stuck) Write(p []byte) (int, error) { <-s.release; return len(p), nil }

func TestPausedTerminalDoesNotHoldUpTraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := stuck{make(chan struct{})}
		term := NewTerminal(out, Style{Live: true})
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() {
			if err := term.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		start := time.Now()
		for range 5 * maxPending {
			time.Sleep(time.Millisecond)
			if err := term.Write(Record{Time: time.Now(), Event: Note{"x"}}); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("writing took %v", took)
		}
		if n := len(term.lines); n > maxPending {
			t.Errorf("%d lines wait", n)
		}
		cancel()
		close(out.release)
		wait.Wait()
		closeOrFail(t, term)
	})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errDisk }

func TestBrokenTerminalIsReported(t *testing.T) {
	term := NewTerminal(broken{}, Style{})
	if err := term.Write(Record{Event: Note{"x"}}); err == nil {
		t.Error("no error")
	}
}

// TestEstimateIsHonest: at half time, the estimate is within 20 % although steps get shorter and evaluations fall between.
func TestEstimateIsHonest(t *testing.T) {
	for name, each := range map[string]func(step int) float64{
		"even":            func(int) float64 { return 1 },
		"told in tens":    func(int) float64 { return 1 },
		"getting shorter": func(step int) float64 { return 2 - 0.7*float64(step)/40 },
		"getting longer":  func(step int) float64 { return 1 + 0.3*float64(step)/40 },
		"evaluations": func(step int) float64 {
			if step%4 == 0 {
				return 2
			}
			return 1
		},
	} {
		var p pace
		now, told := time.Unix(0, 0), 1
		if name == "told in tens" {
			told = 10
		}
		p.ended(0, now)
		var rest float64
		for step := 1; step <= 40; step++ {
			if step <= 20 {
				now = now.Add(seconds(each(step)))
				if step%told == 0 {
					p.ended(int64(step), now)
				}
			} else {
				rest += each(step)
			}
		}
		left, ok := p.left(20, now)
		if off := left.Seconds()/rest - 1; !ok || math.Abs(off) > 0.2 {
			t.Errorf("%s: %v left, really %.1f s", name, left, rest)
		}
	}
	var p pace
	if _, ok := p.left(5, time.Unix(0, 0)); ok {
		t.Error("an estimate before the first step")
	}
}
