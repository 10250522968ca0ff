// Training a byte-level BPE: count the pieces of a corpus, then merge the most frequent adjacent pair until the
// vocabulary is full or nothing repeats. Equal counts are decided by the ids of the pair, so the same texts give the
// same bytes of tokenizer.json.

package tokenizer

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// TrainPattern is the split of Qwen2 and Qwen3: contractions, words and punctuation with the space before them, single
// digits, line ends, other whitespace.
const TrainPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// TrainOptions refine Train. The zero value is the default.
type TrainOptions struct {
	MinCount int      // merge only pairs that occur this often in the texts; 0 means 2
	Visible  []string // control tokens that DecodeVisible keeps, as Qwen3 does for <tool_call> and <think>
}

// Train makes a tokenizer of at most vocabSize ids: the 256 bytes, what was merged, then specials and options.Visible
// in this order. Control strings inside the texts are no text to learn from. VocabSize tells when merges ran out early.
func Train(texts iter.Seq[string], vocabSize int, specials []string, options TrainOptions) (*Tokenizer, error) {
	added := slices.Concat(specials, options.Visible)
	room := vocabSize - 256 - len(added)
	if room < 0 || vocabSize > maxID {
		return nil, fmt.Errorf("tokenizer: train: vocabulary of %d ids; 256 bytes and %d control tokens need at least %d, at most %d is supported",
			vocabSize, len(added), 256+len(added), maxID)
	}
	base, err := New(trained(bytePieces(), nil, added, len(specials)))
	if err != nil {
		return nil, fmt.Errorf("tokenizer: train: %w", err)
	}
	tr := newTrainer(base.count(texts))
	tr.grow(room, max(1, cmp.Or(options.MinCount, 2)))
	t, err := New(trained(tr.pieces, tr.merges, added, len(specials)))
	if err != nil {
		return nil, fmt.Errorf("tokenizer: train: %w", err)
	}
	return t, nil
}

// count returns how often each piece between control strings occurs, spelled in the byte alphabet.
func (t *Tokenizer) count(texts iter.Seq[string]) map[string]int {
	counts := make(map[string]int)
	for text := range texts {
		text = toText(text)
		for _, s := range t.cut(&t.raw, text, nil) {
			if s.token < 0 && s.from < s.to {
				t.split[0](piece{text[s.from:s.to], false}, func(p piece) { counts[p.text]++ })
			}
		}
	}
	out := make(map[string]int, len(counts))
	for p, n := range counts {
		out[toByteLevel(p)] += n
	}
	return out
}

func bytePieces() []string {
	pieces := make([]string, 256)
	for b, r := range runeOfByte {
		pieces[b] = string(r)
	}
	return pieces
}

// trainer holds the corpus as words of ids, and for each adjacent pair its count and the words it may occur in.
type trainer struct {
	words  []word
	pairs  map[uint64]*pairStat
	heap   []ranked
	pieces []string
	ids    map[string]int32
	merges [][2]int32
}

type word struct {
	ids   []int32
	count int
}

type pairStat struct {
	count int
	words []int // may hold words that have lost the pair
}

func newTrainer(counts map[string]int) *trainer {
	tr := &trainer{pairs: make(map[uint64]*pairStat), pieces: bytePieces(), ids: make(map[string]int32)}
	for id, p := range tr.pieces {
		tr.ids[p] = int32(id)
	}
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		w := word{count: counts[text]}
		for _, r := range text {
			w.ids = append(w.ids, int32(byteOfRune[r]))
		}
		tr.words = append(tr.words, w)
	}
	for i := range tr.words {
		tr.tally(i, 1, -1)
	}
	for key, stat := range tr.pairs {
		tr.push(key, stat.count)
	}
	return tr
}

// tally adds sign times the pairs of word i. With fresh ≥ 0, pairs that hold it are put into the heap.
func (tr *trainer) tally(i, sign int, fresh int32) {
	w := tr.words[i]
	for k := 1; k < len(w.ids); k++ {
		key := pairKey(w.ids[k-1], w.ids[k])
		stat := tr.pairs[key]
		if stat == nil {
			stat = &pairStat{}
			tr.pairs[key] = stat
		}
		stat.count += sign * w.count
		if n := len(stat.words); sign > 0 && (n == 0 || stat.words[n-1] != i) {
			stat.words = append(stat.words, i)
		}
		if w.ids[k-1] == fresh || w.ids[k] == fresh {
			tr.push(key, stat.count)
		}
	}
}

// grow merges until room new pieces exist or no pair occurs minCount times.
func (tr *trainer) grow(room, minCount int) {
	limit := len(tr.pieces) + room
	for len(tr.pieces) < limit && len(tr.heap) > 0 {
		top := tr.heap[0]
		tr.heap = siftDown(tr.heap)
		switch now := tr.pairs[top.key].count; {
		case now < minCount:
		case now != top.count: // the entry is old; the pair waits at its present count
			tr.push(top.key, now)
		default:
			tr.merge(top.key)
		}
	}
}

// merge makes one piece of a pair, everywhere.
func (tr *trainer) merge(key uint64) {
	left, right := int32(key>>32), int32(uint32(key))
	text := tr.pieces[left] + tr.pieces[right]
	id, known := tr.ids[text]
	if !known {
		id = int32(len(tr.pieces))
		tr.pieces, tr.ids[text] = append(tr.pieces, text), id
	}
	tr.merges = append(tr.merges, [2]int32{left, right})
	for _, i := range tr.pairs[key].words {
		tr.tally(i, -1, -1)
		tr.words[i].ids = joinPair(tr.words[i].ids, left, right, id)
		tr.tally(i, 1, id)
	}
	tr.pairs[key].count = 0
}

// joinPair replaces left, right by id, from left to right and in place.
func joinPair(ids []int32, left, right, id int32) []int32 {
	out := ids[:0]
	for k := 0; k < len(ids); k++ {
		if k+1 < len(ids) && ids[k] == left && ids[k+1] == right {
			out = append(out, id)
			k++
			continue
		}
		out = append(out, ids[k])
	}
	return out
}

func (tr *trainer) push(key uint64, count int) {
	tr.heap = append(tr.heap, ranked{count, key})
	siftUp(tr.heap)
}

// ranked is a pair with the count it had when it entered the heap.
type ranked struct {
	count int
	key   uint64
}

func (a ranked) before(b ranked) bool {
	return a.count > b.count || a.count == b.count && a.key < b.key
}
