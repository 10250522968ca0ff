// What program this is, and what machine it runs on.

package machine

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"molt/metrics"
	"molt/numeric/kernel"
	"molt/run/problem"
)

// Release is the version of the program.
const Release = "0.1.0"

// NumericEpoch counts the changes of the program after which the same seed gives other bits. A run is resumed only by a
// program of the epoch that began it. TestNumbers says when it must be raised.
const NumericEpoch = 2

// Build says which program this is.
func Build() metrics.Build {
	b := metrics.Build{Molt: Release, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Git = s.Value
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
	return b
}

// Kernels names the kernels that the embedded engine uses here.
func Kernels() string { return kernel.Path() }

// Check refuses an environment in which nothing can be computed as it says.
func Check() error {
	if err := kernel.Refused(); err != nil {
		return &problem.Problem{Code: problem.Usage, What: strings.TrimPrefix(err.Error(), "kernel: "), Fix: "leave MOLT_KERNEL out, or name a path that this machine can run", Err: err}
	}
	return nil
}

// Here describes this machine without naming it.
func Here(threads int) metrics.Machine {
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return metrics.Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: procField("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(),
		Threads: threads, MemoryBytes: Memory(), Kernels: Kernels(),
	}
}

// PeakRSS is the most memory this process has had, in bytes; 0 where the system does not say.
func PeakRSS() int64 { return procKiB("/proc/self/status", "VmHWM") }

// Memory is what this machine has, in bytes; 0 where the system does not say.
func Memory() int64 { return procKiB("/proc/meminfo", "MemTotal") }

func procKiB(file, field string) int64 {
	number, _, _ := strings.Cut(procField(file, field), " ")
	kib, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// procField is the first value of a "field: value" line, "" when there is none.
func procField(file, field string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == field {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
