package local

import (
	"errors"
	"fmt"
	"math"
)

// Schedule is a learning rate as a function of the optimizer steps taken before.
type Schedule struct {
	Kind     string  // "constant", "linear" or "cosine"
	LR       float64 // the highest rate
	Warmup   int64   // steps of linear warm-up: the first takes LR/Warmup, step Warmup is the first at LR
	Steps    int64   // planned steps: where linear and cosine end
	MinRatio float64 // rate at the end, as a share of LR
}

// Validate reports everything that is wrong with s.
func (s Schedule) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("local: schedule "+format, args...))
		}
	}
	check(s.Kind == "constant" || s.Kind == "linear" || s.Kind == "cosine", "%q is unknown; use constant, linear or cosine", s.Kind)
	check(s.LR >= 0 && !math.IsInf(s.LR, 0), "has learning rate %g; it must be finite and at least 0", s.LR)
	check(s.Warmup >= 0, "warms up for %d steps; it must be at least 0", s.Warmup)
	check(s.Kind == "constant" || s.Steps > s.Warmup, "has %d steps, %d of them warm-up; some must be left", s.Steps, s.Warmup)
	check(s.MinRatio >= 0 && s.MinRatio <= 1, "ends at %g of the learning rate; it must be between 0 and 1", s.MinRatio)
	return errors.Join(errs...)
}

// At is the learning rate of the optimizer step that comes after so many others. Beyond Steps it stays where it ended.
func (s Schedule) At(taken int64) float64 {
	if taken < s.Warmup {
		return s.LR * float64(taken+1) / float64(s.Warmup)
	}
	if s.Kind == "constant" {
		return s.LR
	}
	progress := min(1, float64(taken-s.Warmup)/float64(s.Steps-s.Warmup))
	decay := 1 - progress
	if s.Kind == "cosine" {
		decay = (1 + math.Cos(math.Pi*progress)) / 2
	}
	return s.LR * (s.MinRatio + (1-s.MinRatio)*decay)
}
