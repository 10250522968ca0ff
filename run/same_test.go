// Same seed, same bits: whatever the machine gives the run to work with.

package run

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"molt/numeric/kernel"
	"molt/run/folder"
	"molt/run/recipe"
)

// TestResourcesChangeNothing varies what a run may be resumed with: threads, and how many rollouts run at once.
func TestResourcesChangeNothing(t *testing.T) {
	slow(t)
	for _, mode := range []string{"sync", "one_step_ahead"} {
		t.Run(mode, func(t *testing.T) {
			c := microRL(t)
			c.Train.Mode = mode
			runRL(t, c)
			want := tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir)
			for _, e := range []recipe.EngineConfig{
				{Threads: 2, CacheMiB: 256}, {Threads: 3, CacheMiB: 256}, {Threads: 1, InFlight: 1, CacheMiB: 256},
				{Threads: 2, InFlight: 7, CacheMiB: 256}, {Threads: 1, InFlight: 64, CacheMiB: 1},
			} {
				again := *c
				again.Engine, again.Ckpt.Path = e, t.TempDir()
				runRL(t, &again)
				t.Logf("%+v", e)
				tracesOf(t, again.Ckpt.Path, folder.BestDir, folder.LastDir).same(t, want)
			}
		})
	}
}

// TestSeedChangesEverything: the comparisons of this file would see it if a run depended on nothing.
func TestSeedChangesEverything(t *testing.T) {
	c := microRL(t)
	runRL(t, c)
	other := *c
	other.Train.Seed, other.Ckpt.Path = 43, t.TempDir()
	runRL(t, &other)
	model := func(c *recipe.Config) []byte {
		return read(t, filepath.Join(c.Ckpt.Path, folder.LastDir, "model.safetensors"))
	}
	if bytes.Equal(model(c), model(&other)) {
		t.Error("two seeds gave the same weights")
	}
}

// TestKernelsChangeNothing runs each path that this machine has in a process of its own: a path is chosen at start.
func TestKernelsChangeNothing(t *testing.T) {
	slow(t)
	c := microRL(t)
	runRL(t, c)
	want := tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir)
	for _, path := range kernel.Paths() {
		t.Run(path, func(t *testing.T) {
			again := *c
			again.Ckpt.Path = t.TempDir()
			if out, err := (job{RL: &again}).start(t, "MOLT_KERNEL="+path).output(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			tracesOf(t, again.Ckpt.Path, folder.BestDir, folder.LastDir).same(t, want)
		})
	}
	for _, path := range []string{"avx512", "avx2", "plain"} {
		if !slices.Contains(kernel.Paths(), path) {
			t.Logf("this machine cannot run %s", path)
		}
	}
}
