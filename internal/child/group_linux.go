package child

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// OwnGroup gives a program a process group of its own, and lets it die with the thread that starts it.
func OwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// KillGroup ends a program that OwnGroup was given to, and everything in its group. Nobody may have waited for it yet:
// afterwards the number may be another's.
func KillGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// EndGroup blocks until the program has ended, then ends what it left running in its group. Wait for it afterwards.
func EndGroup(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	KillGroup(pid)
}
