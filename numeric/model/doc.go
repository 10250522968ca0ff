// Package model is the Llama/Qwen3-shaped decoder written out: parameters, paged KV, forward, and the backward beside it.
//
// Does: runs packed batches of tokens for generation (Extend) and for training (Forward, Backward) through the same blocks.
// Takes: a Config, token ids, per-token derivatives. Gives: hidden states, logits, log-probs, entropies, values, gradients.
// Must not know: losses, optimizers, sampling, files, requests, versions, who owns a page.
// Start reading at model.go, then pass.go and extend.go; each block is a file: embed.go, attention.go, mlp.go, head.go.
//
// Legend: T tokens of a packed batch, N scored tokens, d = Config.Dim, H query heads and G key/value heads of width hd,
// F = Config.FFN, V = Config.Vocab. Everything is row-major float32; a matrix [T, n] has rows of pad(n) floats, where pad
// rounds up to 16. Weights are [out, in] as in Hugging Face checkpoints.
//
// The bitwise law: each output element is reduced in one order that depends on nothing but its own row, and threads share
// out elements, never reductions. So log-probs have the same bits however tokens are batched, chunked, cached or spread
// over threads, and gradients have the same bits at any thread count.
package model
