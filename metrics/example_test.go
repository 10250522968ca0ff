package metrics_test

import (
	"fmt"
	"os"
	"path/filepath"

	"molt/metrics"
)

// A run writes events and a sample of its rollouts; anybody reads them later.
func Example() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	log, err := metrics.Create(filepath.Join(dir, "events.jsonl"), metrics.NewTensorBoard(filepath.Join(dir, "tensorboard")))
	if err != nil {
		panic(err)
	}
	keeper, err := metrics.OpenKeeper(filepath.Join(dir, "rollouts.jsonl"), log, metrics.Config{KeepBytes: 12 << 20, KeepPerStep: 16}, nil)
	if err != nil {
		panic(err)
	}
	log.Emit(metrics.RunStarted{Name: "shop", Method: "grpo", Plan: metrics.Plan{Steps: 1, Groups: 1, Samples: 2}})
	log.Emit(metrics.StepDone{Step: 1, Version: 1, Groups: 1, Reward: metrics.Describe([]float64{0, 1}), Entropy: new(0.31)})
	keeper.Keep(1, metrics.Train, 1, []metrics.Candidate{{
		Group: 0, Sample: 0, Graded: true, Reward: 1,
		Fill: func() *metrics.RolloutKept { // only called for rollouts that are kept
			r := &metrics.RolloutKept{Step: 1, Split: metrics.Train, Samples: 2, Outcome: "completed", Graded: true, Reward: 1}
			r.Nodes = []metrics.Node{{Parent: -1, Temperature: 1, Finish: "stop"}}
			r.Messages = []metrics.Message{{Role: "assistant", Text: "26"}}
			t := &r.Tokens
			t.ID, t.Piece, t.LogpGen = []int32{17}, []string{"26"}, []float32{-0.25}
			t.Node, t.Sampled, t.Action, t.Version = t.Node.Repeat(0, 1), t.Sampled.Repeat(true, 1), t.Action.Repeat(true, 1), t.Version.Repeat(0, 1)
			return r
		},
	}})
	log.Emit(metrics.RunEnded{Outcome: "finished"})
	if err := keeper.Close(); err != nil {
		panic(err)
	}
	if err := log.Close(); err != nil {
		panic(err)
	}

	records, err := metrics.Salvage(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		panic(err)
	}
	for r, step := range metrics.Of[metrics.StepDone](records) {
		fmt.Printf("event %d: step %d, reward %.1f\n", r.Seq, step.Step, step.Reward.Mean)
	}
	rollouts, err := metrics.ReadRollouts(filepath.Join(dir, "rollouts.jsonl"), records)
	if err != nil {
		panic(err)
	}
	fmt.Print(metrics.RolloutTable(rollouts, 140))
	// Output:
	// event 2: step 1, reward 0.5
	//  step  group sample split     reward advantage outcome        turns tokens lag  kept as
	//     1      0      0 train          1         - completed          1      1   0  best reward, worst reward, median reward, newest
}
