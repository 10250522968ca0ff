package kernel

import "golang.org/x/sys/cpu"

// Paths lists the paths that this machine can run, slowest first. The feature bits include the operating system's consent
// to save the wide registers.
func Paths() []string {
	able := []string{PathPlain}
	x := &cpu.X86
	if x.HasAVX2 && x.HasFMA {
		able = append(able, PathAVX2)
		if x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL && x.HasBMI2 {
			able = append(able, PathAVX512)
		}
	}
	return able
}
