// Package model is the decoder of today's language models written out: parameters, paged KV, forward and the backward
// beside it. Llama is the zero case; what Qwen, Mistral, Phi, SmolLM, Gemma, OLMo and Granite do otherwise is a field of Config.
//
//	does            runs packed batches through the same blocks for generation (Extend) and for training (Forward, Backward)
//	takes           a Config; token ids; the derivative of a loss by each log-prob, entropy and value
//	gives           hidden states, logits, log-probs, entropies, values, gradients, and the bytes all of it needs
//	must not know   losses, optimizers, sampling, files, requests, versions, who owns a page
//	start reading   stack.go, then the blocks: embed.go, residual.go, project.go, attention.go, mlp.go, head.go; extend.go, pass.go around them
//
// Legend: T tokens of a packed batch, N of them wanted by the head, d = Config.Dim, H query heads and G key/value heads of
// width hd, F = Config.FFN, V = Config.Vocab. Everything is row-major float32; a matrix [T, n] has rows of pad(n) floats,
// where pad rounds up to 16. Weights are [out, in] as in Hugging Face checkpoints.
//
// # The bitwise law
//
// Each output element is reduced in one order that depends on nothing but its own row, and threads share out elements,
// never reductions. So log-probs have the same bits however tokens are batched, chunked, cached or spread over threads,
// and gradients have the same bits at any thread count. Blocks may be cut anywhere for the former; for the latter the cut
// must not depend on threads, since norms sum their weights' gradients block by block.
package model
