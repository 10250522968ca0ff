// One binary heap for encoding and training: the element that is before all others lies at index 0.

package tokenizer

type ordered[T any] interface{ before(T) bool }

// siftUp moves the last element to its place.
func siftUp[T ordered[T]](h []T) {
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// siftDown removes the first element and returns the rest.
func siftDown[T ordered[T]](h []T) []T {
	n := len(h) - 1
	h[0] = h[n]
	h = h[:n]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < n; child++ {
			if h[child].before(h[least]) {
				least = child
			}
		}
		if least == i {
			return h
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
