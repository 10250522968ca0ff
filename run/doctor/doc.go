// Package doctor looks at a model and at this machine before anything is trained.
//
//	does            says what fits together, what will be lost, and what does not work, each with a fix
//	takes           an open model, or the name of its folder
//	gives           Findings: a sentence and a fix each
//	must not know   runs, recipes, prompts
//	start reading   doctor.go
package doctor
