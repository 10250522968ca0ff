// Package run puts the rooms together: the whole configuration, preflight, wiring, start order, shutdown order, resume.
//
//	does            builds a run from one Config, drives it to its end, resumes it after a crash
//	takes           a Config (built-in default < recipe file < flags) and a run folder
//	gives           a finished run folder: config.yaml, events.jsonl, rollouts.jsonl, checkpoints/, report.html
//	must not know   flags' syntax, terminals, exit codes; and no room knows this one
//	start reading   config.go, then rl.go
package run
