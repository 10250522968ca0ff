// What sessions have parsed before, found by a digest of its bytes.

package wire

import (
	"hash/maphash"
	"sync"

	"molt/chat"
)

// Seen remembers parsed spans, for all sessions: those of one prompt begin alike. It is safe for concurrent use. The zero Seen
// is empty and ready; nil remembers nothing.
type Seen struct {
	mu    sync.Mutex
	young generation
	old   generation // what was young before, less what was asked for since
}

// generation is remembered as a whole and forgotten as a whole.
type generation struct {
	spans map[spanKey]any
	bytes int // of the spans
}

// spanKey is 128 bits of two secret hashes, so that no client can make one span pass for another.
type spanKey struct {
	kind byte
	a, b uint64
}

var seedA, seedB = maphash.MakeSeed(), maphash.MakeSeed()

// Bounds of a generation. What sessions keep they keep themselves; this bounds what is remembered beside that.
const (
	maxSpans = 1 << 18
	maxBytes = 128 << 20
)

// Remember returns what parse made of a span of this kind before, or asks it now. What it returns must not be changed. A
// problem is not remembered.
func Remember[T any](s *Seen, kind byte, span []byte, parse func(chat.Value) (T, *Problem)) (T, *Problem) {
	if s == nil {
		return parseSpan(span, parse)
	}
	key := spanKey{kind, maphash.Bytes(seedA, span), maphash.Bytes(seedB, span)}
	if found, ok := s.find(key, len(span)).(T); ok {
		return found, nil
	}
	made, problem := parseSpan(span, parse)
	if problem == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.add(key, len(span), made)
	}
	return made, problem
}

// find returns what is remembered of a span of so many bytes, and remembers it for longer; nil when there is nothing.
func (s *Seen) find(key spanKey, bytes int) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.young.spans[key]; found != nil {
		return found
	}
	found := s.old.spans[key]
	if found != nil {
		delete(s.old.spans, key)
		s.add(key, bytes, found)
	}
	return found
}

// add remembers a span. The caller holds mu.
func (s *Seen) add(key spanKey, bytes int, made any) {
	if s.young.spans == nil || len(s.young.spans) >= maxSpans || s.young.bytes+bytes > maxBytes {
		s.old, s.young = s.young, generation{spans: map[spanKey]any{}}
	}
	s.young.spans[key] = made
	s.young.bytes += bytes
}

func parseSpan[T any](span []byte, parse func(chat.Value) (T, *Problem)) (T, *Problem) {
	v, err := chat.ParseValue(span)
	if err != nil {
		var none T
		return none, Badf("", "%v", err)
	}
	return parse(v)
}
