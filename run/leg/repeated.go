// Alarms that come back. One that is raised in every step would bury the others: after the first it is told again as it becomes
// more and more, and the end says how often it was.

package leg

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Repeats counts the steps in which an alarm was raised, by its name. A checkpoint holds it.
type Repeats map[string]int

// Count notes an alarm. tell says whether it is worth telling: the 1st, 2nd, 5th, 10th, 20th, 50th … time; again is what to add.
func (r *Repeats) Count(name string) (again string, tell bool) {
	if *r == nil {
		*r = Repeats{}
	}
	(*r)[name]++
	n := (*r)[name]
	if n > 1 {
		again = fmt.Sprintf("; so it was in %d steps", n)
	}
	return again, Telling(n)
}

// Telling reports whether the nth time of something is worth telling: the 1st, 2nd, 5th, 10th, 20th, 50th …
func Telling(n int) bool {
	for n > 0 && n%10 == 0 {
		n /= 10
	}
	return n == 1 || n == 2 || n == 5
}

// String lists them.
func (r Repeats) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		steps := "steps"
		if r[name] == 1 {
			steps = "step"
		}
		parts = append(parts, fmt.Sprintf("%s in %d %s", name, r[name], steps))
	}
	return strings.Join(parts, ", ")
}

// Line is the line of a result that tells of alarms; "" when there were none.
func (r Repeats) Line(format string) string {
	if len(r) == 0 {
		return ""
	}
	return fmt.Sprintf(format, r)
}
