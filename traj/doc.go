// Package traj is the vocabulary of the house: what a rollout is, and which invariants hold for it.
//
//	does            names the things every room talks about, and validates them
//	takes           nothing: plain values
//	gives           Group, Rollout, Node, Segment, Outcome; Validate, Segments
//	must not know   tokenizers, engines, files, clocks, the mathematics
//	start reading   traj.go, then segment.go
package traj
