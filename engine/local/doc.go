// Package local is the embedded engine: a Generator, a WeightSink and a Learner on the CPU, over one written-out decoder.
//
//	does            batches requests over a paged KV cache, samples, trains weights or an adapter over them, saves and loads
//	takes           a model shape, weights, token ids, per-token gradients
//	gives           the contracts of package engine, and their bitwise law: same seed, same bits, whatever the batch
//	must not know   text, chat templates, rewards, losses, how a matrix product is computed
//	start reading   generator.go, then batch.go; learner.go for training, adapt.go for adapters; plan.go for memory
package local
