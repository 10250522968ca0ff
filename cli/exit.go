// Exit codes, and how errors are shown: what, where, why, fix.

package cli

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"molt/metrics"
	"molt/run/problem"
)

// The exit codes (molt help exit-codes).
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3
	exitAlarm       = 4
	exitResource    = 5
	exitInterrupted = 130
)

// report shows the error on stderr and returns the exit code that belongs to it.
func (a *app) report(err error) int {
	if err == nil {
		return exitOK
	}
	if code, ok := errors.AsType[harnessCode](err); ok {
		return int(code) // what it means, the harness has said
	}
	all := flatten(err)
	for i := 0; i < len(all); {
		i += a.showAlike(all[i:])
	}
	return exitFor(all[0])
}

// showAlike shows the first error, and only the places of those behind it that say the same. It returns how many these are.
func (a *app) showAlike(all []error) int {
	var first *problem.Problem
	if !errors.As(all[0], &first) {
		a.show(all[0])
		return 1
	}
	var places []string
	n := 1
	for ; n < len(all); n++ {
		var p *problem.Problem
		if !errors.As(all[n], &p) || p.Code != first.Code || p.What != first.What || p.Why != first.Why || p.Fix != first.Fix || p.Line != "" {
			break
		}
		places = append(places, p.Where)
	}
	a.show(all[0])
	if len(places) > 0 {
		const most = 5
		text := strings.Join(places[:min(most, len(places))], ", ")
		if more := len(places) - most; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(a.stderr, "  the same: %s\n", metrics.Clean(text))
	}
	return n
}

// flatten lists the errors of errors.Join one by one. Other errors that wrap several say more than their parts.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || err.Error() != errors.Join(joined.Unwrap()...).Error() {
		return []error{err}
	}
	var list []error
	for _, e := range joined.Unwrap() {
		list = append(list, flatten(e)...)
	}
	return list
}

func (a *app) show(err error) {
	var p *problem.Problem
	if !errors.As(err, &p) {
		fmt.Fprintf(a.stderr, "error: %s\n", metrics.Clean(err.Error()))
		return
	}
	fmt.Fprintf(a.stderr, "error[%s]: %s\n", p.Code, metrics.Clean(problemText(p)))
	if p.Line != "" {
		fmt.Fprintf(a.stderr, "  | %s\n", metrics.Clean(p.Line))
		if p.Column > 0 {
			before := string([]rune(p.Line)[:min(p.Column-1, utf8.RuneCountInString(p.Line))])
			fmt.Fprintf(a.stderr, "  | %s^\n", strings.Repeat(" ", utf8.RuneCountInString(metrics.Clean(before))))
		}
	}
	for line := range strings.Lines(p.Text) {
		fmt.Fprintf(a.stderr, "  | %s\n", metrics.Clean(strings.TrimSuffix(line, "\n")))
	}
	if fix := p.Remedy(); fix != "" {
		fmt.Fprintf(a.stderr, "  fix: %s\n", metrics.Clean(fix))
	}
}

// problemText is the sentence without the fix, which has its own line.
func problemText(p *problem.Problem) string {
	q := *p
	q.Fix = ""
	return q.Error()
}

func exitFor(err error) int {
	var p *problem.Problem
	if !errors.As(err, &p) {
		return exitFailed
	}
	switch strings.TrimPrefix(string(p.Code), "MOLT-")[0] {
	case 'U':
		return exitUsage
	case 'D':
		return exitRefused
	case 'A':
		return exitAlarm
	case 'R':
		return exitResource
	case 'I':
		return exitInterrupted
	}
	return exitFailed
}
