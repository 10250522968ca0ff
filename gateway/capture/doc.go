// Package capture answers the requests of agents with sampled turns, and keeps every token as it was sampled.
//
//	does            sessions with their forests, rendering, sampling, reading; retries, broken streams, budgets; a journal
//	takes           canonical requests, a chat.Renderer, a parse.Family, an engine.Generator
//	gives           Gateway, Session, Call (deltas of a reply), Export, traj.Nodes
//	must not know   HTTP, the spelling of any wire, rewards, how anything is trained
//	start reading   ask.go, then observe.go, flight.go and reading.go; journal.go for restarts
package capture
