// Package forest decides how a request relates to what a session has sampled, and remembers all of it.
//
//	does            finds the deepest sampled turn that a conversation continues, turns to splice, retries, cut replies
//	takes           conversations as items with keys; turns that were sampled
//	gives           Forest: Plan, Enter, Commit, Cut, Repeat; Nodes for training
//	must not know   text of wires, tokens' meaning, templates, clocks, files; it is for one goroutine at a time
//	start reading   forest.go, plan.go, then repeat.go and export.go
package forest
