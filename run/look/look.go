// Looking at a run after, or while, it happens: its events, and the rollouts that were kept of it. Only reads.

package look

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"molt/internal/spell"
	"molt/metrics"
	"molt/run/folder"
	"molt/run/problem"
)

// Run is what a run folder holds for people.
type Run struct {
	Path     string // of the run
	Records  []metrics.Record
	Rollouts []*metrics.RolloutKept // by step, those of training first
	Damage   error                  // events and kept rollouts that cannot be read; nil when all can
}

// At reads a run folder, or the reinforcement learning of a quickstart folder.
func At(path string) (*Run, error) {
	at, err := findRun(path)
	if err != nil {
		return nil, err
	}
	l := &Run{Path: at}
	if l.Records, l.Damage = metrics.Salvage(filepath.Join(at, folder.EventsFile)); len(l.Records) == 0 && l.Damage != nil {
		return nil, &problem.Problem{Code: problem.RunFolder, Where: filepath.Join(at, folder.EventsFile), What: l.Damage.Error(), Fix: "look at another run", Err: l.Damage}
	}
	if _, kept := metrics.Last[metrics.RolloutsKept](l.Records); kept {
		var damage error
		l.Rollouts, damage = metrics.ReadRollouts(filepath.Join(at, folder.RolloutsFile), l.Records)
		l.Damage = errors.Join(l.Damage, damage)
	}
	slices.SortStableFunc(l.Rollouts, func(a, b *metrics.RolloutKept) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(b.Split, a.Split), slices.Compare(numbersOf(a), numbersOf(b)))
	})
	return l, nil
}

// findRun gives the folder with the events.
func findRun(path string) (string, error) {
	if _, err := os.Stat(path); err != nil {
		return "", &problem.Problem{Code: problem.RunFolder, Where: path, What: "cannot read the run", Why: problem.Reason(err), Fix: nearbyRuns(path), Err: err}
	}
	if at, err := runIn(path); err == nil {
		return at, nil
	}
	return "", &problem.Problem{Code: problem.RunFolder, Where: path, What: "the folder holds no run", Why: "there is no " + folder.EventsFile, Fix: nearbyRuns(filepath.Join(path, "x"))}
}

// nearbyRuns names the runs that lie beside path.
func nearbyRuns(path string) string {
	parent := filepath.Dir(path)
	entries, err := os.ReadDir(parent)
	var found []string
	for _, e := range entries {
		at := filepath.Join(parent, e.Name())
		if _, none := runIn(at); none == nil {
			found = append(found, at)
		}
	}
	if err != nil || len(found) == 0 {
		return "name a folder that molt quickstart, rl or sft wrote"
	}
	if near := spell.Nearest(path, found); near != "" {
		return "did you mean " + spell.Quoted(near) + "?"
	}
	found = found[:min(5, len(found))]
	for i := range found {
		found[i] = spell.Quoted(found[i])
	}
	return "runs here: " + strings.Join(found, ", ")
}

// runIn gives the folder with the events: path itself, or the reinforcement learning of a quickstart.
func runIn(path string) (string, error) {
	var err error
	for _, at := range []string{path, filepath.Join(path, "rl")} {
		if _, err = os.Stat(filepath.Join(at, folder.EventsFile)); err == nil {
			return at, nil
		}
	}
	return "", err
}

// Rollout finds a kept rollout: best, worst, or STEP/GROUP/SAMPLE, behind train: or held_out: where both have it.
func (l *Run) Rollout(name string) (*metrics.RolloutKept, error) {
	if len(l.Rollouts) == 0 {
		return nil, l.nothingKept()
	}
	switch name {
	case "best":
		return l.extreme(1)
	case "worst":
		return l.extreme(-1)
	}
	found, err := l.find(name, 3)
	if err != nil {
		return nil, err
	}
	if len(found) > 1 {
		return nil, &problem.Problem{Code: problem.Usage, What: fmt.Sprintf("rollout %s is both of training and of an evaluation", name), Fix: "write " + metrics.Train + ":" + name + " or " + metrics.HeldOut + ":" + name}
	}
	return found[0], nil
}

// extreme is the graded rollout with the most (sign 1) or least (-1) reward. Among equals it prefers one that trained, then
// the newest.
func (l *Run) extreme(sign float64) (*metrics.RolloutKept, error) {
	var best *metrics.RolloutKept
	for _, r := range l.Rollouts {
		if !r.Graded {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(sign*r.Reward, sign*best.Reward), trained(r)-trained(best)) >= 0 {
			best = r
		}
	}
	if best == nil {
		return nil, &problem.Problem{Code: problem.RunFolder, Where: l.Path, What: "no kept rollout was graded", Fix: "name one: " + names(l.Rollouts, 3)}
	}
	return best, nil
}

func trained(r *metrics.RolloutKept) int {
	if r.LossShare != nil {
		return 1
	}
	return 0
}

// Group finds the kept rollouts of STEP/GROUP.
func (l *Run) Group(name string) ([]*metrics.RolloutKept, error) {
	if len(l.Rollouts) == 0 {
		return nil, l.nothingKept()
	}
	group, err := l.find(name, 2)
	if err == nil && slices.ContainsFunc(group, func(r *metrics.RolloutKept) bool { return r.Split != group[0].Split }) {
		err = &problem.Problem{Code: problem.Usage, What: fmt.Sprintf("group %s is both of training and of an evaluation", name), Fix: "write " + metrics.Train + ":" + name + " or " + metrics.HeldOut + ":" + name}
	}
	return group, err
}

// WidestGroup names the group of which the most rollouts were kept, the newest of them, for a first comparison; "" when no
// group has two.
func (l *Run) WidestGroup() string {
	best, most := "", 1
	for _, r := range l.Rollouts {
		n := 0
		for _, other := range l.Rollouts {
			if r.Step == other.Step && r.Group == other.Group && r.Split == other.Split {
				n++
			}
		}
		if n > 1 && n >= most {
			best, most = fmt.Sprintf("%d/%d", r.Step, r.Group), n
		}
	}
	return best
}

func (l *Run) nothingKept() error {
	return &problem.Problem{Code: problem.RunFolder, Where: l.Path, What: "no rollout of this run was kept", Fix: "look at a run of `molt rl` with --logger.keep_rollouts above 0"}
}

// find lists the kept rollouts with these 2 or 3 numbers.
func (l *Run) find(name string, n int) ([]*metrics.RolloutKept, error) {
	split, numbers, err := parseRef(name, n)
	if err != nil {
		return nil, err
	}
	var found []*metrics.RolloutKept
	for _, r := range l.Rollouts {
		if slices.Equal(numbersOf(r)[:n], numbers) && (split == "" || split == r.Split) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return nil, l.unknown(name, numbers)
	}
	return found, nil
}

func numbersOf(r *metrics.RolloutKept) []int64 { return []int64{r.Step, r.Group, int64(r.Sample)} }

// parseRef reads [SPLIT:]STEP/GROUP[/SAMPLE].
func parseRef(name string, n int) (split string, numbers []int64, err error) {
	form := "STEP/GROUP/SAMPLE, best or worst"
	if n == 2 {
		form = "STEP/GROUP"
	}
	wrong := &problem.Problem{Code: problem.Usage, What: fmt.Sprintf("%q names no rollout", name), Fix: "write " + form}
	before, rest, found := strings.Cut(name, ":")
	if found {
		if split = before; split != metrics.Train && split != metrics.HeldOut {
			return "", nil, &problem.Problem{Code: problem.Usage, What: fmt.Sprintf("no split %q", split) + spell.DidYouMean(split, []string{metrics.Train, metrics.HeldOut}), Fix: "write train: or held_out:"}
		}
	} else {
		rest = name
	}
	for part := range strings.SplitSeq(rest, "/") {
		x, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			if near := spell.Nearest(name, []string{"best", "worst"}); near != "" && n == 3 {
				wrong.What += "; did you mean " + near + "?"
			}
			return "", nil, wrong
		}
		numbers = append(numbers, x)
	}
	if len(numbers) != n {
		return "", nil, wrong
	}
	return split, numbers, nil
}

// unknown says what was kept near the numbers.
func (l *Run) unknown(name string, numbers []int64) error {
	nearest := slices.MinFunc(l.Rollouts, func(a, b *metrics.RolloutKept) int {
		return slices.Compare(distance(a, numbers), distance(b, numbers))
	})
	var beside []*metrics.RolloutKept
	for _, r := range l.Rollouts {
		if r.Step == nearest.Step {
			beside = append(beside, r)
		}
	}
	n := len(numbers)
	return &problem.Problem{
		Code: problem.Usage, Where: l.Path, What: fmt.Sprintf("nothing was kept of %s; the nearest is %s", name, names([]*metrics.RolloutKept{nearest}, n)),
		Fix: fmt.Sprintf("choose one of step %d: %s; or see them all with --rollouts", nearest.Step, names(beside, n)),
	}
}

func distance(r *metrics.RolloutKept, numbers []int64) []int64 {
	var d []int64
	for i, x := range numbersOf(r)[:len(numbers)] {
		d = append(d, max(x-numbers[i], numbers[i]-x))
	}
	return d
}

// names lists some rollouts by their first n numbers, as they are named on the command line.
func names(list []*metrics.RolloutKept, n int) string {
	const most = 12
	var names []string
	for _, r := range list {
		name := refText(r)
		if n == 2 {
			name = fmt.Sprintf("%d/%d", r.Step, r.Group)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

func refText(r *metrics.RolloutKept) string {
	return fmt.Sprintf("%d/%d/%d", r.Step, r.Group, r.Sample)
}
