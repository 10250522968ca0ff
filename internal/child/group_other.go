//go:build unix && !linux

package child

import "syscall"

// OwnGroup gives a program a process group of its own.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// KillGroup ends a program that OwnGroup was given to, and everything in its group. Nobody may have waited for it yet.
func KillGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// EndGroup does nothing here: what a program leaves running when it ends by itself goes on.
func EndGroup(pid int) {}
