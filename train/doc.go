// Package train turns rollouts, or conversations, into optimizer steps.
//
//	does            one batch of RL (step.go), one batch of supervised fine-tuning (sft.go)
//	takes           groups of rollouts, or token sequences with masks; the policy and a critic as engine.Learners, a reference
//	gives           new weights inside the learners, and the numbers of every trained token
//	must not know   where rollouts come from, text, files, checkpoints, which engine it drives
//	start reading   step.go: it reads like the pseudo-code of the paper
package train
