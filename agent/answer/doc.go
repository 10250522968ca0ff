// Package answer is the environment for questions with one known answer: one reply, compared with the label of the row.
//
//	does            finds the answer in a reply and in a label, and compares them
//	takes           prompt rows with a label: the answer alone, or a worked solution that marks it
//	gives           Env, Correct
//	must not know   models, data files, training
//	start reading   answer.go is the environment, extract.go the rules
package answer
