package inspect

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"molt/chat"
	"molt/engine/local"
)

// Logits is the answer to ids. Position i tells what the model expects behind ids[0..i].
type Logits struct {
	Logp   []float64   `json:"logp"`             // [T-1] nats, of ids[i+1] behind position i
	Top    [][]Likely  `json:"top,omitempty"`    // [T][top] the likeliest ids, most likely first
	Logits [][]float32 `json:"logits,omitempty"` // [T][V], or [1][V] when only the last were asked for
}

// Likely is an id and its log-prob in nats.
type Likely struct {
	ID   int     `json:"id"`
	Logp float64 `json:"logp"`
}

// Oracle reads {"ids": […]}; "top": k adds the k likeliest ids of every position, "logits": "all" or "last" the numbers
// themselves.
func Oracle(o *local.Oracle) Line {
	return func(input chat.Value) (any, error) {
		var ids []int32
		var top int
		var raw string
		if err := fields(input, want{"ids", &ids, true}, want{"top", &top, false}, want{"logits", &raw, false}); err != nil {
			return nil, err
		}
		if raw != "" && raw != "all" && raw != "last" {
			return nil, fmt.Errorf(`logits is %q; want "all" or "last"`, raw)
		}
		if vocab := o.Config().Vocab; top < 0 || top > vocab {
			return nil, fmt.Errorf("top is %d; want 0 to %d", top, vocab)
		}
		answer := Logits{Logp: []float64{}}
		err := o.Logits(ids, func(p int, logits []float32) error {
			normal := logSumExp(logits)
			if p+1 < len(ids) {
				answer.Logp = append(answer.Logp, float64(logits[ids[p+1]])-normal)
			}
			if top > 0 {
				answer.Top = append(answer.Top, likeliest(logits, top, normal))
			}
			if raw == "all" || raw == "last" && p == len(ids)-1 {
				answer.Logits = append(answer.Logits, slices.Clone(logits))
			}
			return nil
		})
		return answer, err
	}
}

func logSumExp(logits []float32) float64 {
	most, sum := float64(slices.Max(logits)), 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x) - most)
	}
	return most + math.Log(sum)
}

// likeliest lists k ids; of equal ones the lower comes first.
func likeliest(logits []float32, k int, normal float64) []Likely {
	order := make([]int, len(logits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) })
	list := make([]Likely, k)
	for i := range list {
		list[i] = Likely{order[i], float64(logits[order[i]]) - normal}
	}
	return list
}
