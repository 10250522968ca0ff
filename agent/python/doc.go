// Package python runs agents that are written as Python files.
//
//	does            keeps a pool of Python processes, and makes an Env or a ChatAgent of what runs in them
//	takes           a file with a class AgentRunner (python/molt/agents.py is its contract), the user's own interpreter
//	gives           agent.Env or agent.ChatAgent, one for each rollout; what agents print, line by line
//	must not know   engines, tokenizers, the gateway, how anything is trained
//	start reading   pool.go is the pool; process.go speaks with one worker; env.go and chat.go are the two doors
package python
