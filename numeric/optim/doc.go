// Package optim steps weights along their gradients: AdamW, Muon, which parameter takes which, at what rate, or not at all.
//
//	does            holds the moments, measures the gradients' norm, updates weights in place on a pool
//	takes           named tensors with their gradients, a Config, a learning rate for each step
//	gives           the same bits at any thread count and on any kernel path; its state as named tensors
//	must not know   models, losses, schedules, files
//	start reading   config.go, then rules.go for who takes what; muon.go
package optim
