package train

import (
	"context"
	"math"
	"strings"
	"testing"

	"molt/engine"
	"molt/engine/enginetest"
)

var chats = []Example{
	{Tokens: []int32{1, 2, 3, 4}, Learn: []bool{false, false, true, true}},
	{Tokens: []int32{5, 6, 7}, Learn: []bool{true, true, false}}, // the first token has no prefix and is not learned
}

func TestSFTStep(t *testing.T) {
	learner := enginetest.NewToy(toy)
	var losses []float64
	for range 3 {
		res, err := SFTStep(context.Background(), learner, chats, 64, engine.StepOptions{LR: 1})
		if err != nil {
			t.Fatal(err)
		}
		if res.Learn != 3 || res.Tokens != 7 {
			t.Fatalf("learned %d of %d tokens; want 3 of 7", res.Learn, res.Tokens)
		}
		losses = append(losses, res.Loss)
	}
	if !(losses[0] > losses[1] && losses[1] > losses[2]) {
		t.Errorf("losses %v do not fall", losses)
	}
}

// TestSFTLossIsATokenMean: the loss does not depend on how the batch is cut.
func TestSFTLossIsATokenMean(t *testing.T) {
	whole, err := SFTLoss(context.Background(), enginetest.NewToy(toy), chats, 64)
	if err != nil {
		t.Fatal(err)
	}
	cut, err := SFTLoss(context.Background(), enginetest.NewToy(toy), chats, 4)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(whole.Loss-cut.Loss) > 1e-12 {
		t.Errorf("%v whole, %v cut", whole.Loss, cut.Loss)
	}
}

func TestSFTRefusesNothingToLearn(t *testing.T) {
	_, err := SFTStep(context.Background(), enginetest.NewToy(toy), []Example{{Tokens: []int32{1, 2}, Learn: []bool{true, false}}}, 64, engine.StepOptions{})
	if err == nil || !strings.Contains(err.Error(), "no token of the batch") {
		t.Errorf("got %v", err)
	}
}
