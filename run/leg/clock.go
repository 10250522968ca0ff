package leg

import (
	"time"

	"molt/traj"
)

// Clock measures the phases of a step.
type Clock struct {
	start, last time.Time
	Seconds     map[string]float64
}

func NewClock() *Clock {
	now := time.Now()
	return &Clock{start: now, last: now, Seconds: map[string]float64{}}
}

// Lap ends a phase.
func (c *Clock) Lap(phase string) {
	now := time.Now()
	c.Seconds[phase] += now.Sub(c.last).Seconds()
	c.last = now
}

// Total is the time since the start, in seconds.
func (c *Clock) Total() float64 { return time.Since(c.start).Seconds() }

// Rate is n per second of a phase, 0 when the phase took no time.
func (c *Clock) Rate(n int, phase string) float64 {
	if s := c.Seconds[phase]; s > 0 {
		return float64(n) / s
	}
	return 0
}

// Sampled counts what the generator sampled in a stretch of time. The next batch is made while the run evaluates and saves,
// so its rate is that of all tokens of the stretch, evaluation included.
type Sampled struct {
	since  time.Time
	until  time.Time
	tokens int
}

func NewSampling() *Sampled { return &Sampled{since: time.Now()} }

// Also counts groups that were made in the same stretch.
func (s *Sampled) Also(groups []*traj.Group) {
	for _, g := range groups {
		for _, r := range g.Rollouts {
			s.tokens += r.Sampled()
		}
	}
}

// Stop ends the stretch with the delivery of a batch.
func (s *Sampled) Stop(groups []*traj.Group) {
	s.Also(groups)
	s.until = time.Now()
}

// Rate is tokens per second.
func (s *Sampled) Rate() float64 {
	if d := s.until.Sub(s.since).Seconds(); d > 0 {
		return float64(s.tokens) / d
	}
	return 0
}
