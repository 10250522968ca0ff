package weights

import (
	"path/filepath"
	"testing"
)

func BenchmarkCheckpoint(b *testing.B) {
	c := state(1, 64<<20)
	b.SetBytes(64 << 20)
	dir := b.TempDir()
	for b.Loop() {
		if _, err := WriteCheckpoint(dir, "step-1", c); err != nil {
			b.Fatal(err)
		}
		s, err := OpenCheckpoint(filepath.Join(dir, "step-1"))
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		if err := (osDisk{}).RemoveAll(filepath.Join(dir, "step-1")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "x.safetensors")
	if _, err := writeOne(path, state(1, 64<<20).Tensors); err != nil {
		b.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	dst := make([]float32, 16<<20)
	b.SetBytes(64 << 20)
	for b.Loop() {
		if err := f.Read("w", dst); err != nil {
			b.Fatal(err)
		}
	}
}
