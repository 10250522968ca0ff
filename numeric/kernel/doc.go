// Package kernel is the arithmetic of the embedded engine: every operator the transformer needs, forward and backward,
// over plain float32 slices on one thread, plus the worker pool and the off-heap arena that the model runs them on.
//
//   - does: matrix products, norms, rotary embedding, softmax, log-sum-exp, soft caps, SwiGLU, GeGLU, AdamW; each
//     as a plain Go twin and as generated AVX2 and AVX-512 assembly that returns the same bits.
//   - takes: destination first, then sources, then sizes; row-major slices; every size explicit.
//   - gives: results that depend on the arguments alone: not on the path, the thread count or the partition of the work.
//   - must not know: what a model, a token or an optimizer step is.
//   - start reading at: gemm.go, then softmax.go and rmsnorm.go, then gen/kernels.go for how the assembly is made.
//
// Legend: M rows (tokens), N output features, K the dimension that is summed over; hd the head dimension.
//
// # What there is
//
//   - products: [Gemm], [Pool.Gemm]; operands [B], [Packed], [RowMajor]; [Pack], [PackT], [PackColumn], [PackedLen].
//   - elements: [Add], [Sub], [Mul], [Scale], [Axpy], [Exp], [Log].
//   - reductions: [Dot], [Max], [SumSquares].
//   - blocks: [RMSNorm], [Rope], [SwiGLU], [GeGLU], [Softmax], [Softcap], each with a Backward; [LogSumExp] over chunks of
//     logits with [LogSumExpBackward]; [AdamW].
//   - machinery: [Pool] and [Task], [Arena], [Path], [Paths], [SetPath].
//
// Gradients of inputs that others share (RMSNorm's dx, dw) are added to; those of inputs with one consumer (the gated units,
// Softmax, Softcap, Rope, the logits) replace what was there. Each function says which.
//
// # The bitwise law
//
// An element of a matrix product adds up chains of [Chain] steps along K: a chain is one float32 accumulator that starts at
// +0 and takes its k in ascending order with one fused multiply-add each, sum = fma(a[m,k], b[k,n], sum). C starts at its
// old value, or at +0, and takes the chains in ascending order with one addition each. So a huge old value, such as a
// residual, rounds once a chain and not once a step. A reduction along a row has 16 lanes: lane l takes the elements i with
// i mod 16 = l in ascending order, then lanes fold pairwise at distances 8, 4, 2, 1. Division and square root are IEEE,
// exp is one polynomial. Everything else rounds after each multiplication and each addition. So work may be split over
// outputs and between chains, never over one. Plain code writes float32(x*y) + z, because a compiler may fuse x*y + z.
//
// A slice that is too short or of the wrong length is the caller's mistake and panics with the sizes; NaN and infinities
// are data and flow through as IEEE says. Destinations may not overlap sources except where a function says so.
//
// The environment variable MOLT_KERNEL (plain, avx2, avx512) chooses a path; otherwise it is the fastest of the machine.
package kernel

//go:generate go run ./gen
