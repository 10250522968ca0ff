// Package gateway captures what the policy sees and says, token for token.
//
//	does            one session for each rollout: renders, samples, parses, and keeps ids, log-probs and versions
//	takes           messages, a chat.Renderer, an engine.Generator, budgets
//	gives           replies to agents, traj.Nodes to training
//	must not know   rewards, environments, how anything is trained or scheduled
//	start reading   session.go; capture.go checks what the engine returned
//
// This package is for agents in the same process, one conversation each. Agents that speak HTTP are served by the rooms below:
// serve (routes, streams), openai, responses and anthropic (the wires), wire (what they share), capture (sessions), forest
// (what a request continues), script (canned replies).
package gateway
