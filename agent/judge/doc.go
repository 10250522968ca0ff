// Package judge lets a language model grade what cannot be computed.
//
//	does            asks an OpenAI-compatible endpoint about an answer, and reads a score from what it says
//	takes           a rubric with placeholders, an address: another model's, or the rollout's own
//	gives           a score between 0 and 1 and the judge's words; or an error, which is the grader's failure
//	must not know   engines, sessions, how anything is trained
//	start reading   judge.go
package judge
