// What a session has parsed before, found by a digest of its bytes.

package wire

import (
	"hash/maphash"
	"sync"

	"molt/chat"
)

// Seen remembers parsed spans. It is safe for concurrent use. The zero Seen is empty and ready; nil remembers nothing.
type Seen struct {
	mu    sync.Mutex
	spans map[spanKey]any
	bytes int // of the spans
}

// spanKey is 128 bits of two secret hashes, so that no client can make one span pass for another.
type spanKey struct {
	kind byte
	a, b uint64
}

var seedA, seedB = maphash.MakeSeed(), maphash.MakeSeed()

// Bounds of what is remembered; when it is full it starts anew.
const (
	maxSpans = 1 << 16
	maxBytes = 64 << 20
)

// Remember returns what parse made of a span of this kind before, or asks it now. What it returns must not be changed. A
// problem is not remembered.
func Remember[T any](s *Seen, kind byte, span []byte, parse func(chat.Value) (T, *Problem)) (T, *Problem) {
	if s == nil {
		return parseSpan(span, parse)
	}
	key := spanKey{kind, maphash.Bytes(seedA, span), maphash.Bytes(seedB, span)}
	s.mu.Lock()
	found, ok := s.spans[key].(T)
	s.mu.Unlock()
	if ok {
		return found, nil
	}
	made, problem := parseSpan(span, parse)
	if problem != nil {
		return made, problem
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spans == nil || len(s.spans) >= maxSpans || s.bytes+len(span) > maxBytes {
		s.spans, s.bytes = make(map[spanKey]any), 0
	}
	s.spans[key] = made
	s.bytes += len(span)
	return made, nil
}

func parseSpan[T any](span []byte, parse func(chat.Value) (T, *Problem)) (T, *Problem) {
	v, err := chat.ParseValue(span)
	if err != nil {
		var none T
		return none, Badf("", "%v", err)
	}
	return parse(v)
}
