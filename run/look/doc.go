// Package look is for looking at runs.
//
//	does            reads a run folder after, or while, the run happens
//	takes           a run folder, the name of a rollout, the number of a token
//	gives           rollouts, every number of a token, a run as one JSON object
//	must not know   how a run is made; it writes nothing
//	start reading   look.go
package look
