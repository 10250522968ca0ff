// Package gateway lets agents in the same process talk to the policy, one conversation each.
//
//	does            one session for each rollout: says what is new, asks, returns the reply; literal text for agents that write markers
//	takes           messages, a chat.Renderer, an engine.Generator, budgets
//	gives           replies to agents, traj.Nodes to training
//	must not know   rewards, environments, how anything is trained or scheduled; how turns are kept
//	start reading   session.go; capture keeps the turns, for these sessions as for those over HTTP
//
// Agents that speak HTTP are served by the rooms below: serve (routes, streams), openai, responses and anthropic (the wires), wire
// (what they share), capture (sessions), forest (what a request continues), script (canned replies).
package gateway
