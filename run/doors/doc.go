// Package doors lets agents of every kind reach the policy.
//
//	does            opens the agent that a configuration names, and the sessions that it needs: in process, literal, or over HTTP
//	takes           settings, an opened model, a generator
//	gives           Agent: an agent.Runner; what was said, for reports
//	must not know   training, scheduling, run folders
//	start reading   doors.go; captured.go is a session over HTTP
package doors
