// Package openenv plays environments that are served as OpenEnv serves them.
//
//	does            holds one WebSocket session per rollout with an environment that runs elsewhere, and makes an agent.Env of it
//	takes           its address, how a reply becomes an action and an observation becomes text
//	gives           agent.Env; refusals before the run begins, where the environment's schema shows that it cannot go well
//	must not know   engines, tokenizers, the gateway; any address but the one that it was given
//	start reading   openenv.go is a rollout; wire.go the messages; action.go what is said in them; socket.go carries them
package openenv
