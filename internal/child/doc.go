// Package child bounds programs that we start and do not trust.
//
//	does            gives a program a process group, a process namespace and limits, holds its temporary folders, keeps the end of what it says, ends all it started
//	takes           an argument list, limits
//	gives           what os/exec needs
//	must not know   why the program runs
//	start reading   limits.go
package child
