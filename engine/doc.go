// Package engine holds the contracts between the algorithm and whatever runs a model: Generator, Learner, WeightSink.
//
//	does            defines token-level contracts and the plain types that cross them
//	takes           token ids, sampling settings, per-token gradients
//	gives           sampled ids with log-prob and weight version; log-probs and optimizer steps
//	must not know   text, chat templates, rewards, advantages, losses, tensor libraries
//	start reading   engine.go; enginetest/ is the suite that every implementation passes
//
// # How a remote implementation fits
//
// The contracts are written so that an engine in another process can keep them.
//
// A PyTorch FSDP2 worker implements Learner over a connection to rank 0. Forward sends the micro-batch, every rank runs
// its shard of the forward pass and keeps the graph, and rank 0 answers with log-probs: the [Pass] is a handle on the
// graph that lives across the round trip. Backward sends the per-token gradients and seeds one backward pass; Release
// drops the graph without one. The sequences of a micro-batch are dealt out to data-parallel ranks, which
// MaxBatch counts together; gradients are summed, never averaged, because the gradients that Go sends are already divided
// by the step's global denominator. Save and Load name a folder that every rank can reach: each writes its shard, rank 0
// writes the manifest last. When a rank dies, every pending and later call returns an error for which
// errors.Is(err, ErrLost) holds; the driver starts a new learner and loads the last checkpoint. Nothing is retried inside
// the engine, because half a step cannot be undone.
//
// A vLLM or SGLang server implements Generator over HTTP. Generate posts token ids, reads the stream, and calls emit for
// each token; a cancelled context aborts the request. If weights change under a running request, each token carries the
// version that sampled it: the server reports spans of versions, and a server that cannot is drained before a switch. A
// 503, a refused connection or a broken stream is ErrUnavailable: the caller may try again elsewhere, and the engine
// never pastes two attempts into one reply. A reply without one log-prob for each id is an error. A server that reads images is
// sent their bytes beside the ids, in the order of their placeholders, which it makes room at itself. The same adapter
// implements WeightSink: Publish uploads or points at a manifest (at the low-rank factors alone where Weights.Adapter is over
// the base that the server holds), pauses, loads, clears the KV that other weights computed, resumes, and returns only when
// Serving would report the new version and fingerprint.
package engine
