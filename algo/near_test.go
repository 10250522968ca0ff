package algo

import (
	"fmt"
	"math"
)

// tester is what a *testing.T and a *rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// near fails unless got and want agree to a millionth of want, or to a billionth where that is less.
func near[F float32 | float64](t tester, what string, got []F, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range got {
		if !close6(float64(got[i]), want[i]) {
			t.Fatalf("%s: %v, want %v (index %d)", what, got, want, i)
		}
	}
}

func nearly(t tester, what string, got, want float64) {
	t.Helper()
	near(t, what, []float64{got}, want)
}

func close6(got, want float64) bool {
	return got == want || math.Abs(got-want) <= 1e-9+1e-6*math.Abs(want)
}

func equal[T comparable](t tester, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func mustPanic(t tester, what string, f func()) {
	t.Helper()
	defer func() {
		if r := recover(); r == nil {
			t.Fatalf("%s: no panic", what)
		} else if s := fmt.Sprint(r); len(s) < 10 {
			t.Fatalf("%s: panic without a sentence: %q", what, s)
		}
	}()
	f()
}

// mask reads a row of 0s and 1s.
func mask(bits ...int) []bool {
	m := make([]bool, len(bits))
	for i, b := range bits {
		m[i] = b == 1
	}
	return m
}

func repeat(value float32, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = value
	}
	return s
}

var (
	inf = float32(math.Inf(1))
	nan = float32(math.NaN())
	ln3 = float32(math.Log(3))
)
