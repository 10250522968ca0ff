// Package rehearse plays an agent without training.
//
//	does            plays a few prompts with an agent of any kind and shows what the policy is shown, what it says, how it ends
//	takes           the settings of a run; replies, a person who types them, or a model
//	gives           rollouts, and their story as text
//	must not know   terminals, training
//	start reading   rehearse.go; heard.go tells the story
package rehearse
