// Package leg is what one process does of a run, whatever it trains: plans, checkpoints, events, alarms, endings.
//
//	does            says what a run would take, opens its events, keeps and finds its checkpoints, ends it with the truth
//	takes           an open run folder, a configuration's optimizer and adapter, a learner
//	gives           the parts of a run that survive, and sentences for people
//	must not know   what a step is
//	start reading   checkpoint.go, then ending.go
package leg
