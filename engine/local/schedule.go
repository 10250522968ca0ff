package local

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Schedule is a learning rate as a function of the optimizer steps taken before. wsd (warm-up, stable, decay; Hu et al.
// 2024, arXiv 2404.06395) stays constant until its last steps, so that a run may be prolonged from before them.
type Schedule struct {
	Kind     string  // "constant", "linear", "cosine" or "wsd"
	LR       float64 // the highest rate
	Warmup   int64   // steps of linear warm-up: the first takes LR/Warmup, step Warmup is the first at LR
	Steps    int64   // planned steps: where all but constant end
	MinRatio float64 // rate at the end, as a share of LR
	Decay    float64 // share of Steps over which wsd goes down, (0, 1]
}

// ScheduleKinds are the names that Kind may take.
var ScheduleKinds = []string{"constant", "linear", "cosine", "wsd"}

// Validate reports everything that is wrong with s.
func (s Schedule) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("local: schedule "+format, args...))
		}
	}
	check(slices.Contains(ScheduleKinds, s.Kind), "%q is unknown; use one of %s", s.Kind, strings.Join(ScheduleKinds, ", "))
	check(s.LR >= 0 && !math.IsInf(s.LR, 0), "has learning rate %g; it must be finite and at least 0", s.LR)
	check(s.Warmup >= 0, "warms up for %d steps; it must be at least 0", s.Warmup)
	check(s.Kind == "constant" || s.Steps > s.Warmup, "has %d steps, %d of them warm-up; some must be left", s.Steps, s.Warmup)
	if s.Kind == "wsd" {
		check(s.Decay > 0 && s.Decay <= 1, "goes down over %g of its steps; it must be above 0 and at most 1", s.Decay)
		check(!(s.stable() < float64(s.Warmup)), "goes down from step %g on, but warms up until step %d; one must end before the other begins", s.stable(), s.Warmup)
	}
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
	return s.LR * (s.MinRatio + (1-s.MinRatio)*s.share(float64(taken)))
}

// share goes from 1 to 0 between the warm-up and Steps.
func (s Schedule) share(taken float64) float64 {
	progress := func(from float64) float64 { return min(1, max(0, (taken-from)/(float64(s.Steps)-from))) }
	switch s.Kind {
	case "linear":
		return 1 - progress(float64(s.Warmup))
	case "cosine":
		return (1 + math.Cos(math.Pi*progress(float64(s.Warmup)))) / 2
	default: // wsd; better than a straight line: Hägele et al. 2024, arXiv 2405.18392
		return 1 - math.Sqrt(progress(s.stable()))
	}
}

// stable is the step at which wsd begins to go down.
func (s Schedule) stable() float64 { return float64(s.Steps) * (1 - s.Decay) }
