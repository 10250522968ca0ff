package run

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"molt/run/folder"
	"molt/run/leg"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/weights"
)

// TestKilledWithCritic: policy and critic are always of one batch.
func TestKilledWithCritic(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	c := microRL(t)
	withCritic(c)
	killRL(t, c)
}

// criticOf reads the critic of the newest checkpoint.
func criticOf(t *testing.T, c *recipe.Config) string {
	t.Helper()
	s, _, err := weights.Latest(filepath.Join(c.Ckpt.Path, criticsDir))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return string(read(t, filepath.Join(s.Path, "tensors.safetensors")))
}

// TestDamagedCritic: a checkpoint whose critic is damaged or gone is passed over, and the run ends as if nothing had been.
func TestDamagedCritic(t *testing.T) {
	c := microRL(t)
	withCritic(c)
	c.Reward.Scale, c.Reward.Normalise = 2, "running" // more state that must come back
	runRL(t, c)
	want, critic := tracesOf(t, c.Ckpt.Path, folder.BestDir, folder.LastDir), criticOf(t, c)
	damages := map[string]func(dir string) error{
		"nothing": func(string) error { return nil },
		"gone":    os.RemoveAll,
		"cut": func(dir string) error {
			return os.Truncate(filepath.Join(dir, "tensors.safetensors"), 100)
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			again := *c
			again.Ckpt.Path = t.TempDir()
			half(t, &again, "3")
			if err := damage(filepath.Join(again.Ckpt.Path, criticsDir, "step-000003")); err != nil {
				t.Fatal(err)
			}
			runRL(t, &again)
			got := tracesOf(t, again.Ckpt.Path, folder.BestDir, folder.LastDir)
			if slices.ContainsFunc(got.Events, isDamageAlarm) != (name != "nothing") {
				t.Error("the alarm about a damaged checkpoint is missing, or false")
			}
			got.Events = slices.DeleteFunc(got.Events, isDamageAlarm)
			got.same(t, want)
			if criticOf(t, &again) != critic {
				t.Error("weights or moments of the newest critic differ")
			}
		})
	}
}

// TestEveryCriticDamaged: without any critic there is nothing to go on from, and starting over in silence would hide it.
func TestEveryCriticDamaged(t *testing.T) {
	c := microRL(t)
	withCritic(c)
	half(t, c, "2")
	if err := os.RemoveAll(filepath.Join(c.Ckpt.Path, criticsDir)); err != nil {
		t.Fatal(err)
	}
	_, err := RL(t.Context(), c, recipe.Settings(c), leg.View{})
	wantProblem(t, err, problem.RunFolder, "no checkpoint can be trusted")
}

// TestCriticsLeaveWithTheirPolicies: a critic is kept exactly as long as the policy it belongs to.
func TestCriticsLeaveWithTheirPolicies(t *testing.T) {
	c := microRL(t)
	withCritic(c)
	c.Ckpt.MaxNum = 2
	runRL(t, c)
	names := func(dir string) (names []string) {
		entries, err := os.ReadDir(filepath.Join(c.Ckpt.Path, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	policies, critics := names(folder.CheckpointsDir), names(criticsDir)
	if len(critics) < 2 || !slices.Equal(policies, critics) {
		t.Errorf("policies %v, critics %v", policies, critics)
	}
}
