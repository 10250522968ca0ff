// Package sched decides which rollout runs when, which group trains, and when weights may change: a state machine.
//
//	does            admission, group assembly, retries, deadlines, drops by reason, batches in dispatch order, lag, conservation
//	takes           events (a prompt, a finished rollout, the time, new weights, a request for a batch)
//	gives           actions (start, cancel, retry, drop, deliver, switch weights); a Snapshot that resumes exactly
//	must not know   goroutines, clocks, engines, agents, files, rewards' meaning
//	start reading   sched.go, then event.go; testdata/ holds scenarios to read
package sched
