// Package shop is the task of the quickstart: what do 3 pens and 2 cups cost? Look both prices up, calculate, answer.
//
//	does            an environment with two tools, its prompt rows, and a demonstrator that is sloppy on purpose
//	takes           prompt rows, whose label says everything about the episode; replies of the policy
//	gives           Env, Tasks, Demo
//	must not know   models, tokenizers, training
//	start reading   shop.go is the task, env.go the environment, demo.go the slips; README.md says what it shows
package shop
