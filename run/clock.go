package run

import (
	"time"

	"molt/traj"
)

// clock measures the phases of a step.
type clock struct {
	start, last time.Time
	seconds     map[string]float64
}

func newClock() *clock {
	now := time.Now()
	return &clock{start: now, last: now, seconds: map[string]float64{}}
}

// lap ends a phase.
func (c *clock) lap(phase string) {
	now := time.Now()
	c.seconds[phase] += now.Sub(c.last).Seconds()
	c.last = now
}

// total is the time since the start, in seconds.
func (c *clock) total() float64 { return time.Since(c.start).Seconds() }

// rate is n per second of a phase, 0 when the phase took no time.
func (c *clock) rate(n int, phase string) float64 {
	if s := c.seconds[phase]; s > 0 {
		return float64(n) / s
	}
	return 0
}

// sampled counts what the generator sampled in a stretch of time. The next batch is made while the run evaluates and saves,
// so its rate is that of all tokens of the stretch, evaluation included.
type sampled struct {
	since  time.Time
	until  time.Time
	tokens int
}

func newSampling() *sampled { return &sampled{since: time.Now()} }

// also counts groups that were made in the same stretch.
func (s *sampled) also(groups []*traj.Group) {
	for _, g := range groups {
		for _, r := range g.Rollouts {
			s.tokens += r.Sampled()
		}
	}
}

// stop ends the stretch with the delivery of a batch.
func (s *sampled) stop(groups []*traj.Group) {
	s.also(groups)
	s.until = time.Now()
}

// rate is tokens per second.
func (s *sampled) rate() float64 {
	if d := s.until.Sub(s.since).Seconds(); d > 0 {
		return float64(s.tokens) / d
	}
	return 0
}
