// Numbers for people: three or four digits that matter, a unit where there is one.

package metrics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// number gives about four significant digits in at most nine characters.
func number(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'g', -1, 64)
	case v == math.Trunc(v) && a < 1e5:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 1e5 || a < 1e-3:
		return strconv.FormatFloat(v, 'e', 1, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// count shortens a number of things: 999, 12.3k, 4.56M.
func count(n float64) string {
	switch {
	case math.Abs(n) >= 1e9:
		return fmt.Sprintf("%.2fG", n/1e9)
	case math.Abs(n) >= 1e6:
		return fmt.Sprintf("%.2fM", n/1e6)
	case math.Abs(n) >= 1e4:
		return fmt.Sprintf("%.1fk", n/1e3)
	}
	return fmt.Sprintf("%.0f", n)
}

// size is a number of bytes: 640 B, 12.3 MiB.
func size(n int64) string {
	const units = "KMGT"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, u := float64(n)/1024, 0
	for f >= 1024 && u < len(units)-1 {
		f, u = f/1024, u+1
	}
	return fmt.Sprintf("%.1f %ciB", f, units[u])
}

// clock is a duration as m:ss, or h:mm:ss.
func clock(d time.Duration) string {
	s := int64(max(0, d).Round(time.Second) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// tally lists counts by name: "no signal 11, stale 1", the most frequent first.
func tally(counts map[string]int) string {
	var names []string
	for name, n := range counts {
		if n != 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", Clean(name), counts[name])
	}
	return strings.Join(names, ", ")
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// spark draws values as a line of width bars, the newest at the right; each bar is the mean of its share of the values.
func spark(values []float64, width int, unicode bool) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	if !unicode {
		bars = []rune("_.-=+*%#")
	}
	values = finite(values)
	if len(values) == 0 || width < 1 {
		return ""
	}
	means := shrink(values, width)
	low, high := slices.Min(means), slices.Max(means)
	line := make([]rune, len(means))
	for i, v := range means {
		level := 0.5
		if high > low {
			level = (v - low) / (high - low)
		}
		line[i] = bars[min(int(level*float64(len(bars))), len(bars)-1)]
	}
	return string(line)
}

func finite(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// shrink averages values into at most n bins of nearly equal size.
func shrink(values []float64, n int) []float64 {
	n = min(n, len(values))
	means := make([]float64, n)
	for i := range means {
		part := values[i*len(values)/n : (i+1)*len(values)/n]
		for _, v := range part {
			means[i] += v / float64(len(part))
		}
	}
	return means
}
