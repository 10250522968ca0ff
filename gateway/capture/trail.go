// The ids that the newest turn ends with, kept in one piece: the next prompt mostly goes on behind them, and so costs what
// is new. Without this, each prompt would be put together from the whole path.

package capture

// trail is the path of a turn, its sampled ids included. The one who takes it may append to it, and nobody else.
type trail struct {
	turn int32
	ids  []int32 // nil when it was taken
}

// roomForBridge is how many ids mostly follow a path.
const roomForBridge = 4096

// follow returns the ids of the path that ends with a turn; the caller may append to them. It holds the session's lock.
func (s *Session) follow(turn int32) []int32 {
	if ids := s.trail.ids; ids != nil && s.trail.turn == turn {
		s.trail.ids = nil
		return ids
	}
	return s.forest.IDs(turn, roomForBridge)
}

// leave keeps the path of a turn that was sampled behind a prompt. It appends to the prompt, in place where there is room.
// The caller holds the lock.
func (s *Session) leave(turn int32, prompt, sampled []int32) {
	s.trail = trail{turn, append(prompt, sampled...)}
}
