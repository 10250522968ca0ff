package model

import (
	"fmt"

	"molt/numeric/kernel"
)

// Seq is a sequence's place in a KV pool: position p lives in Pages[p/PageTokens].
type Seq struct {
	Pages []int32
	Len   int // positions already cached
}

// Span asks to run Tokens at positions Seq.Len, Seq.Len+1, …; Seq.Pages must already cover them, and no two spans of a call
// may write to the same page.
type Span struct {
	Seq    *Seq
	Tokens []int32
}

// Extend runs the spans as one packed batch, any mix of prompt chunks and single tokens, and writes their KV. It advances
// nothing: the caller adds len(Tokens) to Seq.Len. It returns the final-norm hidden state of the last token of each span i
// with want[i], in order, [rows, d]; the slice belongs to w until its next use. A call beyond the budget of w, a token
// outside the vocabulary, or a position without a page is the caller's mistake and panics.
//
// Calls with different Works may run at the same time as long as they write different pages.
func (m *Model) Extend(w *Work, kv *KV, spans []Span, want []bool) (hidden []float32) {
	c := m.config
	if w.m != m || len(want) != len(spans) || kv.layers != c.Layers || kv.heads != c.KVHeads || kv.headDim != c.HeadDim {
		panic(fmt.Sprintf("model: Extend: %d spans, %d wants, or the Work or KV of another model", len(spans), len(want)))
	}
	w.begin(kv)
	s := &w.scored
	s.n = 0
	for i, span := range spans {
		w.addSpan(i, span)
		if want[i] {
			if s.n == len(s.rows) {
				panic(fmt.Sprintf("model: Extend: more wanted hidden states than the budget's %d", len(s.rows)))
			}
			s.rows[s.n] = int32(w.rows - 1)
			s.n++
		}
	}
	w.stack()
	return s.hidden[:s.n*c.Dim]
}

// addSpan appends the i-th span to the pass.
func (w *Work) addSpan(i int, span Span) {
	c, n, at := &w.c, len(span.Tokens), span.Seq.Len
	if n == 0 || w.rows+n > len(w.ids) || at < 0 || at+n > c.MaxPositions || at+n > len(span.Seq.Pages)*PageTokens {
		panic(fmt.Sprintf("model: Extend: span %d has %d tokens at position %d with %d pages; the budget has room for %d tokens, "+
			"a sequence for %d positions", i, n, at, len(span.Seq.Pages), len(w.ids)-w.rows, c.MaxPositions))
	}
	for _, page := range span.Seq.Pages[:(at+n+PageTokens-1)/PageTokens] {
		if page < 0 || int(page) >= w.kv.pages {
			panic(fmt.Sprintf("model: Extend: span %d uses page %d of %d", i, page, w.kv.pages))
		}
	}
	for _, id := range span.Tokens {
		if id < 0 || int(id) >= c.Vocab {
			panic(fmt.Sprintf("model: Extend: span %d has token %d; the vocabulary has %d", i, id, c.Vocab))
		}
	}
	w.add(run{len: n, pos: at, pages: span.Seq.Pages, span: PageTokens}, span.Tokens)
}

// Logits writes the logits [rows, V] of hidden states [rows, d].
func (m *Model) Logits(w *Work, dst, hidden []float32, rows int) {
	t := &w.unembed
	*t = unembedding{m, dst, hidden, rows, unembedIDs}
	if rows*m.config.Vocab*m.config.Dim <= littleWork {
		t.ids = m.config.Vocab
	}
	w.pool.Run(blocks(rows, stripRows)*t.columns(), t)
	*t = unembedding{}
}

// littleWork is a number of multiply-adds that is done before another thread has woken up.
const littleWork = 1 << 20

// unembedding is Logits as a task over blocks of rows times blocks of ids.
type unembedding struct {
	m           *Model
	dst, hidden []float32
	rows        int
	ids         int // in a block
}

const unembedIDs = 256

func (t *unembedding) columns() int { return blocks(t.m.config.Vocab, t.ids) }

func (t *unembedding) Do(item, _ int) {
	c := &t.m.config
	row, id := item/t.columns()*stripRows, item%t.columns()*t.ids
	rows, n := min(stripRows, t.rows-row), min(t.ids, c.Vocab-id)
	kernel.Gemm(t.dst[row*c.Vocab+id:], c.Vocab, t.hidden[row*c.Dim:], c.Dim, 1, t.m.unembed.from(id), rows, n, c.Dim, false)
	for i := range rows {
		c.squash(t.dst[(row+i)*c.Vocab+id:][:n])
	}
}
