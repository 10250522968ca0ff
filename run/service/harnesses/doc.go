// Package harnesses tries the agent harnesses that people use against the capture server.
//
//	does            runs each one, without a person, on a scripted engine, and checks what was captured token by token
//	takes           MOLT_HARNESSES, the folder in which scripts/harnesses/install.sh installed them
//	gives           tests, and the table of docs/harnesses.md
//	must not know   how the gateway matches, stitches or stores
//	start reading   cases_test.go; check_test.go has the invariants, kit_test.go what is particular to each harness
package harnesses
