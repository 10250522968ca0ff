package model

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
	panic("model: Extend is not built yet")
}

// Logits writes the logits [rows, V] of hidden states [rows, d].
func (m *Model) Logits(w *Work, dst, hidden []float32, rows int) {
	panic("model: Logits is not built yet")
}

// Temper divides a row of logits by the temperature in place, as Forward does. The temperature must be above 0.
func Temper(logits []float32, temperature float32) {
	panic("model: Temper is not built yet")
}

// LogSumExp is the normaliser of a row of logits [V], already divided by the temperature: the log-prob of id i is
// logits[i]-LogSumExp(logits), with the bits that Forward gives.
func LogSumExp(logits []float32) float32 {
	panic("model: LogSumExp is not built yet")
}
