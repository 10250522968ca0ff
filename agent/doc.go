// Package agent is what a user writes to have something learned, and what runs it.
//
//	does            plays an environment against the policy, with deadlines, and types every end
//	takes           a Task, an Env of the user, a Policy that samples and captures
//	gives           one traj.Rollout with its rewards and outcome, never an error
//	must not know   engines, tokenizers, the scheduler, files, how anything is trained
//	start reading   agent.go is the contract; runner.go is the loop
package agent
