// Package algo is all of the reinforcement-learning mathematics: plain functions over slices, each beside its formula.
//
//	does            rewards, advantages, ratios, losses with their derivative by each token, KL, filters, packing, statistics
//	takes           rewards, action masks, log-probs, values
//	gives           one number per token (advantage, weight, derivative) and statistics that add up over micro-batches
//	must not know   models, tensors, tokenizers, files, goroutines, clocks, random numbers
//	start reading   losses.go (the gradient of the clip term), then group.go; table.go lists every name, docs/algorithms.md shows it
//
// Legend: N action tokens of a micro-batch, T tokens of a segment, S segments, R rollouts, n rollouts of one group.
// Log-probs are in nats. Sums run in float64 and in index order. A slice of the wrong length is the programmer's mistake
// and panics; a number that is not finite is data: it adds nothing to any gradient and is counted in the statistics.
package algo
