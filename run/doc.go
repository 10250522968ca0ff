// Package run puts the rooms together: preflight, wiring, start order, shutdown order, resume.
//
//	does            builds a run of reinforcement learning from one Config, drives it to its end, resumes it after a crash
//	takes           a Config of run/recipe (built-in default < recipe file < flags), which names the run folder
//	gives           a finished run folder: config.yaml, events.jsonl, rollouts.jsonl, checkpoints/, report.html
//	must not know   flags' syntax, terminals, exit codes; and no room but cli knows this one
//	start reading   rl.go, the loop; then preflight.go (what is refused), rlopen.go (start order), rlcheckpoint.go (resume), rlend.go
package run
