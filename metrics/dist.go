// A distribution of numbers, small enough to be in every event.

package metrics

import (
	"math"
	"slices"
)

// Dist describes n numbers. The zero value describes none.
type Dist struct {
	N      int     `json:"n"`
	Mean   float64 `json:"mean"`
	Std    float64 `json:"std"` // of the population, not of a sample
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Counts []int   `json:"counts,omitempty"` // of values in equal bins from Min to Max; one bin when they are all equal
}

const distBins = 16

// Describe summarises values. A value that is not finite makes mean and standard deviation NaN and is in no bin.
func Describe(values []float64) Dist {
	if len(values) == 0 {
		return Dist{}
	}
	d := Dist{N: len(values), Min: slices.Min(values), Max: slices.Max(values)}
	for _, v := range values {
		d.Mean += v
	}
	d.Mean /= float64(d.N)
	for _, v := range values {
		d.Std += (v - d.Mean) * (v - d.Mean)
	}
	d.Std = math.Sqrt(d.Std / float64(d.N))
	d.fill(values)
	return d
}

// fill counts the values.
func (d *Dist) fill(values []float64) {
	width := (d.Max - d.Min) / distBins
	switch {
	case d.Min == d.Max:
		d.Counts = []int{d.N}
	case width > 0 && !math.IsInf(width, 0):
		d.Counts = make([]int, distBins)
		for _, v := range values {
			d.Counts[min(int((v-d.Min)/width), distBins-1)]++
		}
	}
}

// Edge is where bin i begins; Edge(len(Counts)) is Max.
func (d Dist) Edge(i int) float64 {
	if i == len(d.Counts) {
		return d.Max
	}
	return d.Min + (d.Max-d.Min)*float64(i)/float64(len(d.Counts))
}
