package metrics

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// oneOfEach holds every kind of event with every field set.
var oneOfEach = []Event{
	RunStarted{
		Name: "shop", Method: "grpo", Command: "molt quickstart --seed 7", ConfigDigest: "3f2a", Config: "seed: 7 # flag --seed\n", Seed: math.MaxUint64,
		Model:       Model{Name: "tiny", Params: 452992, Vocab: 461, Context: 512, Fingerprint: "9c41"},
		Machine:     Machine{OS: "linux", Arch: "amd64", CPU: "Example", Cores: 2, Threads: 2, MemoryBytes: 1 << 34, Kernels: "avx512"},
		Build:       Build{Molt: "0.1.0", Git: "abc1234", Dirty: true, Go: "go1.27.3"},
		Plan:        Plan{SFTSteps: 800, Steps: 20, Groups: 16, Samples: 8},
		ResumedFrom: "checkpoints/step-8",
	},
	SFTStep{Step: 1, Loss: 3.25, GradNorm: 2.5, LearningRate: 0.003, Trained: 440, Tokens: 880, WallSeconds: 0.05},
	StepDone{
		Step: 3, Version: 3, Groups: 16, Filtered: map[string]int{"no signal": 5}, Outcomes: map[string]int{"completed": 127, "timeout": 1},
		Dropped: map[string]int{"too old": 2}, Info: map[string]float64{"lookups": 2},
		Reward: Describe([]float64{0, 1, 1, 0.5}), Turns: Describe([]float64{4}), ActionTokens: Describe([]float64{70, 54}), Lag: Describe([]float64{0, 1}),
		Loss: math.NaN(), Entropy: new(0.3), Ratio: &Divergence{1e-4, 2e-4, 0.1}, Mismatch: &Divergence{}, Reference: &Divergence{0.1, 0.2, math.Inf(1)},
		ClipFraction: new(0.001), ESS: new(1.0), GradNorm: math.Inf(1), Skipped: true, LearningRate: 7e-4,
		Generated: 9000, Trained: 6000, GeneratedPerSec: 10500, TrainedPerSec: 12500,
		Seconds: map[string]float64{"train": 0.5, "generate": 0.8}, WallSeconds: 1.6, Idle: 0.05,
	},
	EvalDone{
		Step: 4, Version: 4, Name: "held_out", Temperature: 1, N: 256, Samples: 1, PassAt1: 0.5, PassAtK: 0.75,
		Sources: map[string]EvalSource{"shop": {256, 0.5, 0.75}}, Outcomes: map[string]int{"completed": 256},
		Turns: Describe([]float64{4, 3}), ActionTokens: Describe([]float64{60}), WallSeconds: 0.7,
	},
	CheckpointSaved{Step: 4, Keep: "best", Path: "checkpoints/step-4", Score: new(0.5), Bytes: 5435904},
	RolloutsKept{
		Step: 3, Split: Train, Offered: 128, Kept: []KeptRef{{Group: 7, Sample: 2, Why: []string{KeptBest}, Offset: 100, Bytes: 50}},
		LeftOut: map[string]int{LeftByRule: 127}, Spent: 50, Budget: 1000,
	},
	Alarm{
		Name: "no-gradient", Severity: Critical, Step: 3, Sentence: "No token trained in step 3.",
		Evidence: []Ref{{3, 7, 2}}, Fix: "check the mask",
	},
	Note{Text: "stopping after this step"},
	Rewound{ToSeq: 5, Step: 2},
	RunEnded{Outcome: "stopped", Reason: "interrupted", Resume: "molt rl --resume runs/shop", Seconds: 12.5, PeakRSSBytes: 1 << 28},
}

func TestEventsSpellingIsStable(t *testing.T) {
	var text bytes.Buffer
	for i, e := range oneOfEach {
		line, err := Record{Seq: int64(i + 1), Time: time.Date(2026, 11, 30, 18, 25, 3, 120e6, time.UTC), Leg: 1, Event: e}.encode()
		if err != nil {
			t.Fatal(err)
		}
		text.Write(line)
	}
	golden(t, "events.golden.jsonl", text.Bytes())
	if n := len(oneOfEach); n != len(kinds) {
		t.Errorf("%d kinds are shown, there are %d", n, len(kinds))
	}
}

func TestEventsSurviveTheFile(t *testing.T) {
	for _, want := range oneOfEach {
		line, err := Record{Seq: 1, Leg: 1, Event: want}.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(line)
		if err != nil {
			t.Fatalf("%s: %v", want.Kind(), err)
		}
		if diff := cmp.Diff(want, got.Event, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Kind(), diff)
		}
	}
}

func TestUnknownKindIsKept(t *testing.T) {
	line := `{"seq":4,"time":"2026-11-30T18:25:03Z","leg":1,"kind":"from_the_future","data":{"x":1}}`
	got, err := decode([]byte(line))
	if err != nil || got.Event.Kind() != "from_the_future" {
		t.Errorf("decode: %v, %v", got, err)
	}
}

// TestRunsOfBefore: what is a leg was an attempt.
func TestRunsOfBefore(t *testing.T) {
	got, err := decode([]byte(`{"seq":4,"time":"2026-11-30T18:25:03Z","attempt":3,"kind":"note","data":{"text":"x"}}`))
	if err != nil || got.Leg != 3 {
		t.Errorf("decode: %+v, %v", got, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `null`, `[]`, `{"seq":1}`,
		`{"seq":0,"leg":1,"kind":"note","data":{"text":"x"}}`,
		`{"seq":1,"leg":0,"kind":"note","data":{"text":"x"}}`,
		`{"seq":1,"leg":1,"kind":"","data":{"text":"x"}}`,
		`{"seq":1,"leg":1,"kind":"note","data":{"text":5}}`,
		`{"seq":1,"seq":2,"leg":1,"kind":"note","data":{"text":"x"}}`,
		`{"seq":1,"leg":1,"kind":"sft_step","data":{"loss":"lots"}}`,
	} {
		if r, err := decode([]byte(text)); err == nil {
			t.Errorf("%s: read as %+v", text, r)
		}
	}
}

func TestRunsAreShortAndBounded(t *testing.T) {
	r := RolloutKept{Split: Train, Tokens: Tokens{Node: Runs[int]{}.Repeat(0, 5).Repeat(1, 2)}}
	text := encodeOrFail(t, r)
	if !strings.Contains(text, `"node":[[0,5],[1,2]]`) {
		t.Errorf("runs are spelled otherwise in %s", text)
	}
	for _, bad := range []string{`[[0,1000000000000]]`, `[[0,-1]]`, `[[0,0]]`, `[[0]]`, `[[0,1,2]]`, `[0]`, `{}`, `[[0,1.5]]`, `[["x",1]]`} {
		var runs Runs[int]
		if err := unmarshal([]byte(bad), &runs); err == nil {
			t.Errorf("%s: read as %d numbers", bad, len(runs))
		}
	}
}

func TestDescribe(t *testing.T) {
	got := Describe([]float64{0, 1, 1, 0})
	want := Dist{N: 4, Mean: 0.5, Std: 0.5, Min: 0, Max: 1, Counts: []int{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if d := Describe([]float64{3, 3}); d.Std != 0 || len(d.Counts) != 1 || d.Counts[0] != 2 {
		t.Errorf("equal numbers: %+v", d)
	}
	if d := Describe([]float64{1, math.NaN()}); !math.IsNaN(d.Mean) || d.Counts != nil {
		t.Errorf("NaN: %+v", d)
	}
	if d := Describe([]float64{-math.MaxFloat64, math.MaxFloat64}); d.Counts != nil {
		t.Errorf("a range beyond float64 got bins: %+v", d)
	}
}

func FuzzDecode(f *testing.F) {
	for i, e := range oneOfEach {
		line, err := Record{Seq: int64(i + 1), Leg: 1, Event: e}.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := decode(text)
		if err != nil {
			return
		}
		again, err := r.encode()
		if err != nil {
			t.Fatalf("%s was read, but cannot be written: %v", text, err)
		}
		if _, err := decode(again); err != nil {
			t.Fatalf("%s became %s: %v", text, again, err)
		}
	})
}
