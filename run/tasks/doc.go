// Package tasks makes tasks of prompts.
//
//	does            turns rows of prompt files into the tasks of an agent
//	takes           files and the keys of their fields
//	gives           tasks in order, a source that can be resumed, digests
//	must not know   agents, models
//	start reading   tasks.go
package tasks
