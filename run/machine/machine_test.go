package machine

import (
	"runtime"
	"testing"
)

func TestHere(t *testing.T) {
	m := Here(0)
	if m.OS != runtime.GOOS || m.Threads != runtime.GOMAXPROCS(0) || m.Cores < 1 || m.Kernels == "" || Here(3).Threads != 3 {
		t.Errorf("%+v", m)
	}
	if runtime.GOOS == "linux" && (Memory() < 1<<20 || PeakRSS() < 1<<20 || PeakRSS() > Memory()) {
		t.Errorf("memory %d, of it at most %d used", Memory(), PeakRSS())
	}
	if b := Build(); b.Molt != Release || b.Go != runtime.Version() {
		t.Errorf("%+v", b)
	}
	if err := Check(); err != nil {
		t.Error(err)
	}
}

// TestSpeed: any machine does more than a million operations a second, and none 10¹⁷.
func TestSpeed(t *testing.T) {
	if s := Speed(1); s < 1e6 || s > 1e17 {
		t.Errorf("%g operations a second", s)
	}
}
