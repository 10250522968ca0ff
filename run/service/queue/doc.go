// Package queue decides which rollouts of the service go on, and what is kept of them.
//
//	does            admits tasks, hands out places in three pools, bounds what is waiting and what is kept, lets results expire
//	takes           events: a task, a rollout that wants to go on or has ended, a cancel, the time
//	gives           actions: start, let in, stop, forget; what is where
//	must not know   agents, HTTP, clocks
//	start reading   queue.go
package queue
