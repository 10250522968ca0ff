// Package enginetest is the conformance suite of the engine contracts, and a scripted engine for other rooms' tests.
//
//	does            checks every promise of package engine against an implementation; plays one from a script
//	takes           a Factory that makes equal engines; for the script, replies and faults
//	gives           Run, Checks; Script (Generator and WeightSink) and Toy (Learner)
//	must not know   how an engine computes: what the contracts hide is reached only through Subject's hooks
//	start reading   suite.go; script.go for the fake
package enginetest
