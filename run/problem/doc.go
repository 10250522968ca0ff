// Package problem is what goes wrong, for users.
//
//	does            says what went wrong in one form: where, what, why, fix, and a stable code
//	takes           what a room knows about a failure
//	gives           an error that is one sentence, whose code is an anchor in docs/errors.md
//	must not know   exit codes, terminals
//	start reading   problem.go
package problem
