// Package finetune trains a model on conversations.
//
//	does            lays conversations out as tokens, takes the steps, evaluates now and then, resumes after a crash
//	takes           an SFTConfig of run/recipe
//	gives           a finished run folder with the model in final/
//	must not know   reinforcement learning, flags, terminals
//	start reading   run.go, then preflight.go
package finetune
