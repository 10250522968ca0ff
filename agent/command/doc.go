// Package command makes an agent of any program.
//
//	does            runs a command for each rollout in a folder of its own, and finds out what its work was worth
//	takes           an argument list with placeholders, a folder to copy, where the reward comes from, limits
//	gives           agent.ChatAgent
//	must not know   engines, tokenizers, the gateway, how anything is trained
//	start reading   command.go is a rollout; reward.go says what it was worth; preset.go knows the harnesses
package command
