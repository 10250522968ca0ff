// Package metrics records what a run did: typed events, the rollouts kept for people, and where both can be read.
//
//	does            numbers events and appends them; keeps a bounded sample of rollouts; feeds a terminal and TensorBoard
//	takes           one struct for each kind of event, rollouts with their tokens
//	gives           events.jsonl, rollouts.jsonl, TensorBoard files, a live view, plain-text views; reads them back
//	must not know   how training works, flags, HTML, the other rooms
//	start reading   event.go (what is recorded), log.go (how it survives), keep.go (which rollouts are kept)
package metrics
