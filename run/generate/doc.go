// Package generate talks to a model.
//
//	does            holds conversations with a model, completes text, plays environments
//	takes           a model folder and how to sample; an environment
//	gives           replies as they are sampled, with ids and log-probs
//	must not know   terminals, training
//	start reading   speaker.go
package generate
