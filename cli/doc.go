// Package cli is the command line of molt, for programs that bring environments of their own too.
//
//	does            reads flags, carries out the command, prints data on standard output and talk on standard error
//	takes           a command line; environments that were registered before (agent.Register)
//	gives           Main; exit codes
//	must not know   how anything is done: that is run and its rooms
//	start reading   cli.go, then a command's file
package cli
