package engine

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestRequestValidate(t *testing.T) {
	c := Capabilities{Name: "plain", Vocab: 10, MaxTokens: 4}
	cases := []struct {
		name  string
		spoil func(*Request)
		want  string
	}{
		{"sound", func(*Request) {}, ""},
		{"empty prompt", func(r *Request) { r.Prompt = nil }, "empty prompt"},
		{"id outside", func(r *Request) { r.Prompt[1] = 10 }, "prompt id 10 at 1 is outside the vocabulary of 10"},
		{"no room", func(r *Request) { r.Prompt = []int32{1, 2, 3, 4} }, "leaves no room in 4"},
		{"temperature", func(r *Request) { r.Sampling.Temperature = float32(math.NaN()) }, "temperature NaN"},
		{"top_p", func(r *Request) { r.Sampling.TopP = 1.5 }, "top_p 1.5"},
		{"top_k", func(r *Request) { r.Sampling.TopK = -1 }, "top_k -1"},
		{"min_p", func(r *Request) { r.Sampling.MinP = -0.1 }, "min_p -0.1"},
		{"max_tokens", func(r *Request) { r.Sampling.MaxTokens = 0 }, "max_tokens 0"},
		{"stop token", func(r *Request) { r.Sampling.StopTokens = []int32{11} }, "stop token 11"},
		{"stop sequence", func(r *Request) { r.Sampling.StopSequences = [][]int32{{}} }, "stop sequence 0 is empty"},
		{"constraint", func(r *Request) { r.Constrain = func() Constraint { return nil } }, "constrains its reply, and plain cannot"},
	}
	for _, c2 := range cases {
		r := Request{Prompt: []int32{1, 2}, Sampling: Sampling{Temperature: 1, MaxTokens: 1}, Tag: "t"}
		c2.spoil(&r)
		check(t, c2.name, r.Validate(c), c2.want)
	}
	long := Request{Prompt: []int32{1, 2, 3, 4}, Sampling: Sampling{MaxTokens: 1}}
	if !errors.Is(long.Validate(c), ErrTooLong) {
		t.Error("a prompt without room is not ErrTooLong")
	}
}

func check(t *testing.T, name string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: got %v, want %q", name, err, want)
	}
}

func TestBatchValidate(t *testing.T) {
	cases := []struct {
		name  string
		spoil func(*Batch)
		want  string
	}{
		{"sound", func(*Batch) {}, ""},
		{"starts do not cover", func(b *Batch) { b.Starts[2] = 4 }, "do not cover its 5 tokens"},
		{"one token", func(b *Batch) { b.Starts[1] = 4 }, "has 1 token"},
		{"too long", func(b *Batch) { b.Starts = []int32{0, 5} }, "more than 4"},
		{"id outside", func(b *Batch) { b.Tokens[0] = -1 }, "batch token -1 at 0"},
		{"score of a first token", func(b *Batch) { b.Score = []int32{3} }, "the first of its sequence"},
		{"score out of order", func(b *Batch) { b.Score = []int32{4, 1} }, "not ascending"},
		{"score beyond", func(b *Batch) { b.Score = []int32{5} }, "not ascending inside the batch"},
		{"temperatures", func(b *Batch) { b.Temperature = []float32{1} }, "scores 2 tokens with 1 temperatures"},
		{"temperature 0", func(b *Batch) { b.Temperature = []float32{1, 0} }, "batch temperature 0 at 1"},
	}
	for _, c := range cases {
		b := Batch{Tokens: []int32{1, 2, 3, 4, 5}, Starts: []int32{0, 3, 5}, Score: []int32{1, 4}}
		c.spoil(&b)
		check(t, c.name, b.Validate(10, 4), c.want)
	}
}

func TestExact(t *testing.T) {
	same := Capabilities{Deterministic: true, Numerics: "a"}
	for _, c := range []struct {
		g    Capabilities
		l    LearnerCapabilities
		want bool
	}{
		{same, LearnerCapabilities{Numerics: "a"}, true},
		{same, LearnerCapabilities{Numerics: "b"}, false},
		{Capabilities{Deterministic: true}, LearnerCapabilities{}, false},
		{Capabilities{Numerics: "a"}, LearnerCapabilities{Numerics: "a"}, false},
	} {
		if Exact(c.g, c.l) != c.want {
			t.Errorf("exact of %+v and %+v is %v", c.g, c.l, !c.want)
		}
	}
}
