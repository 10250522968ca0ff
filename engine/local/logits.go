package local

import (
	"fmt"

	"molt/engine"
	"molt/numeric/kernel"
	"molt/numeric/model"
)

// Oracle computes logits and nothing else: for looking at a model, and for comparing it with others. It is for one goroutine.
type Oracle struct {
	held
	work *model.Work
	pool *kernel.Pool
}

// oracleTokens are what one pass holds.
const oracleTokens = 1

// NewOracle makes an oracle of w, which it copies. Close frees its memory. threads 0 takes all cores.
func NewOracle(shape model.Config, w engine.Weights, threads int) (*Oracle, error) {
	m, err := model.New(shape)
	if err != nil {
		return nil, err
	}
	o := &Oracle{held: hold(m, m.Params(), Config{}), pool: kernel.NewPool(Config{Threads: threads}.resolve(shape).Threads)}
	if err := o.check(w); err != nil {
		o.pool.Close()
		o.free()
		return nil, fmt.Errorf("local: %w", err)
	}
	o.set(w, o.pool)
	o.work = model.NewWork(m, o.pool, model.Budget{Tokens: oracleTokens})
	return o, nil
}

// Logits hands over the logits [V] behind each of the ids, in order; the slice is the oracle's until each returns.
func (o *Oracle) Logits(ids []int32, each func(position int, logits []float32) error) error {
	c := o.Config()
	if len(ids) == 0 || len(ids) > c.MaxPositions {
		return fmt.Errorf("local: %d ids; want 1 to %d", len(ids), c.MaxPositions)
	}
	for i, id := range ids {
		if id < 0 || int(id) >= c.Vocab {
			return fmt.Errorf("local: id %d at %d is outside the vocabulary of %d", id, i, c.Vocab)
		}
	}
	kv, err := model.NewKV(c, (len(ids)+model.PageTokens-1)/model.PageTokens)
	if err != nil {
		return err
	}
	defer kv.Free()
	seq := &model.Seq{}
	for page := range kv.Pages() {
		seq.Pages = append(seq.Pages, int32(page))
	}
	logits := make([]float32, c.Vocab)
	for p := range ids { // one at a time: only the last token of a span has its hidden state returned
		hidden := o.Extend(o.work, kv, []model.Span{{Seq: seq, Tokens: ids[p : p+1]}}, []bool{true})
		o.Model.Logits(o.work, logits, hidden, 1)
		seq.Len++
		if err := each(p, logits); err != nil {
			return err
		}
	}
	return nil
}

// Close frees the oracle's memory.
func (o *Oracle) Close() {
	o.work.Free()
	o.pool.Close()
	o.free()
}
