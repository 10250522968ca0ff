package run

import "time"

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
