// A suite that cannot fail proves nothing: here every check is run against an engine that breaks the promise it names.

package enginetest_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"molt/engine/enginetest"
)

func TestEveryCheckCanFail(t *testing.T) {
	for _, check := range enginetest.Checks() {
		spoilers := slices.Concat(brokenGenerators[check.Name], brokenLearners[check.Name])
		if len(spoilers) == 0 {
			t.Errorf("%s: no engine here breaks it", check.Name)
		}
		for i, spoil := range spoilers {
			t.Run(fmt.Sprint(check.Name, "/", i), func(t *testing.T) {
				r := record(t, check, func(t testing.TB) enginetest.Subject {
					s := scripted(t)
					spoil(&s)
					return s
				})
				if len(r.errors) == 0 {
					t.Errorf("the check passed a broken engine (skipped: %q)", r.skipped)
				}
			})
		}
	}
}

func TestNoCheckSkipsTheScript(t *testing.T) {
	for _, check := range enginetest.Checks() {
		if r := record(t, check, scripted); r.skipped != "" || len(r.errors) > 0 {
			t.Errorf("%s: skipped %q, errors %q", check.Name, r.skipped, r.errors)
		}
	}
}

func TestAnEmptySubjectSkips(t *testing.T) {
	for _, check := range enginetest.Checks() {
		r := record(t, check, func(testing.TB) enginetest.Subject { return enginetest.Subject{} })
		if r.skipped == "" || len(r.errors) > 0 {
			t.Errorf("%s on nothing: skipped %q, errors %q; want a skip", check.Name, r.skipped, r.errors)
		}
	}
}

func TestLeaksAreNoticed(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	r := record(t, enginetest.Checks()[0], func(t testing.TB) enginetest.Subject {
		for range 16 { // more than what other tests may have ending at this moment
			go func() { <-release }()
		}
		return scripted(t)
	})
	if len(r.errors) == 0 {
		t.Error("a goroutine that outlives Close went unnoticed")
	}
}

// recorder is a testing.TB that notes failures instead of failing.
type recorder struct {
	testing.TB
	errors   []string
	skipped  string
	cleanups []func()
}

// record runs the check on its own goroutine, which Fatalf and Skipf may end.
func record(t *testing.T, check enginetest.Check, factory enginetest.Factory) *recorder {
	r := &recorder{TB: t}
	done := make(chan struct{}) // closed by the goroutine below
	go func() {
		defer close(done)
		defer func() {
			for _, f := range slices.Backward(r.cleanups) {
				f()
			}
		}()
		check.Run(r, factory)
	}()
	<-done
	return r
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
