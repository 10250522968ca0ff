package cli

import "testing"

// TestKernelThatIsNone: a word for a kernel path that this machine does not have is a mistake on the command line.
func TestKernelThatIsNone(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"bench", "gemm"}, {"quickstart", "--dry-run"}} {
		cmd := command(t.TempDir(), args...)
		cmd.Env = append(cmd.Env, "MOLT_KERNEL=nonsense")
		finish(t, cmd).want(t, exitUsage, `error[MOLT-U001]: no path "nonsense" on this machine, which can run plain`, "leave MOLT_KERNEL out")
	}
}
