package kernel

import "golang.org/x/sys/cpu"

// fastest is the last path that this machine can run. The feature bits include the operating system's consent to save the
// wide registers.
func fastest() int {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasBMI2:
		return plain
	case !x.HasAVX512F || !x.HasAVX512DQ || !x.HasAVX512BW || !x.HasAVX512VL:
		return avx2
	}
	return avx512
}
