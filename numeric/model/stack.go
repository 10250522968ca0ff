package model

// begin starts a pass over no tokens yet; kv is where it keeps keys and values.
func (w *Work) begin(kv *KV) {
	w.kv, w.rows, w.runs = kv, 0, w.runs[:0]
	w.pass.live = false
}

// add appends a run to the pass.
func (w *Work) add(r run, ids []int32) {
	r.row = w.rows
	for i := range ids {
		w.runOf[r.row+i] = int32(len(w.runs))
	}
	copy(w.ids[r.row:], ids)
	w.rows += len(ids)
	w.runs = append(w.runs, r)
}

// stack runs the decoder's layers over the rows of the pass, up to the final-norm hidden states of the rows that the head
// wants. Between two layers lies one barrier: all keys of a layer must be written before any row attends. Generation and
// training differ only in where the KV lies.
func (w *Work) stack() {
	w.wide = w.rows <= wideRows && w.c.layerSize() >= wideLayer && w.pool.Threads() > 1
	for w.layer = 0; w.layer <= w.c.Layers; w.layer++ {
		rows := w.outputs(w.layer - 1)
		if w.wide {
			w.runStage(w.blockAt(0, 0, rows))
		} else {
			w.runBlocks(blocks(rows, w.blockRows(rows)), (*stage)(w))
		}
	}
	w.wide = false
}

// A wide pass has few rows and weights that no core's cache holds: reading them is all the work, so the workers share out
// each product's columns, and the caller does the rest on one block.
const (
	wideRows  = 16
	wideLayer = 1 << 19 // weights of a layer
)

// layerSize is the number of a layer's weights.
func (c Config) layerSize() int { return c.Dim * (c.qkv() + c.qDim() + c.gateUp() + c.FFN) }

// stage is what lies between two barriers, as a task over blocks of rows: the second part of a layer and the first part of
// the next.
type stage Work

func (t *stage) Do(_, worker int) {
	w := (*Work)(t)
	w.runStage(w.blockAt(w.deal(worker), worker, w.outputs(w.layer-1)))
}

func (w *Work) runStage(b block) {
	if w.layer == 0 {
		w.embed(b)
	} else {
		w.attend(b, w.layer-1)
		w.mlp(b, w.layer-1)
	}
	if w.layer < w.c.Layers {
		w.project(b, w.layer)
	} else {
		w.finalNorm(b)
	}
}
