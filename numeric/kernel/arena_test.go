package kernel

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"
)

func TestArenaSlicesAreAlignedApartAndZero(t *testing.T) {
	a := NewArena(1000)
	defer a.Free()
	r := rand.New(rand.NewPCG(1, 7))
	var all [][]float32
	for i := range 400 {
		n := r.IntN(5000)
		if i%100 == 99 {
			n = 3 << 20 // more than a block has left
		}
		s := a.Floats(n)
		if len(s) != n || cap(s) != n {
			t.Fatalf("Floats(%d) has length %d, capacity %d", n, len(s), cap(s))
		}
		if uintptr(unsafe.Pointer(unsafe.SliceData(s)))%64 != 0 {
			t.Fatalf("slice %d lies at %p", i, unsafe.SliceData(s))
		}
		for j, v := range s {
			if v != 0 {
				t.Fatalf("fresh slice %d has %v at %d", i, v, j)
			}
			s[j] = float32(i + 1)
		}
		all = append(all, s)
	}
	for i, s := range all {
		for j, v := range s {
			if v != float32(i+1) {
				t.Fatalf("slice %d has %v at %d: another lies over it", i, v, j)
			}
		}
	}
}

func TestArenaSettles(t *testing.T) {
	a := NewArena(10)
	defer a.Free()
	round := func() *float32 {
		first := a.Floats(100)
		a.Floats(5 << 20)
		a.Floats(7 << 20)
		return &first[0]
	}
	round()
	a.Reset()
	size, first := a.Bytes(), round()
	for range 5 {
		a.Reset()
		if again := round(); again != first || a.Bytes() != size {
			t.Fatalf("the arena moved or grew from %d to %d bytes", size, a.Bytes())
		}
	}
	*first = 3
	a.Reset()
	if z := a.Zeros(100); z[0] != 0 {
		t.Errorf("Zeros gave %v", z[0])
	}
}

func TestArenaFreeAndSizes(t *testing.T) {
	a := NewArena(0)
	if a.Bytes() == 0 || a.Bytes()%4096 != 0 {
		t.Errorf("an arena of %d bytes", a.Bytes())
	}
	a.Free()
	a.Free()
	if a.Bytes() != 0 {
		t.Errorf("%d bytes after Free", a.Bytes())
	}
	if s := a.Floats(3); len(s) != 3 {
		t.Errorf("%d floats after Free", len(s))
	}
	a.Free()
	if text := panicText(func() { a.Floats(-1) }); !strings.Contains(text, "-1 floats") {
		t.Errorf("Floats(-1): %q", text)
	}
}
