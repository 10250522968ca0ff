// How often a server collects garbage.

package serve

import "runtime"

// allowance is how much more garbage a server may leave lying, in bytes: what some thousand turns leave.
const allowance = 256 << 20

// Pace lets this process collect garbage seldom until the returned function is called: the slowest turns are those that meet
// a collection, and a server with few sessions would make one every ten turns. The heap may hold 256 MiB more than it would,
// however much of it is live; a percentage would let the heap of a large model grow by gigabytes.
func Pace() (end func()) {
	weight := make([]byte, allowance) // counts as live, and is never touched, so that it takes no memory itself
	return func() { runtime.KeepAlive(weight) }
}
