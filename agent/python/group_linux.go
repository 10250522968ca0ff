package python

import "syscall"

// ownGroup gives a process a group of its own; it dies with this program.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup ends a process and everything it started. pid is a process that we started and that leads its group.
func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }
