// Package machine is this program and the machine under it.
//
//	does            says which program this is, and what it runs on
//	takes           nothing
//	gives           version, numeric epoch, processor, cores, memory
//	must not know   runs
//	start reading   machine.go
package machine
