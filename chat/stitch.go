// Extend or branch: does a request continue what was sampled, or is it something new? This is the linear append mode: a
// rollout is one growing path, thinking is kept, and what does not extend it starts a new segment, with a reason.

package chat

import (
	"slices"
)

// Reason says why a request starts a new segment.
type Reason string

const (
	NewRoot      Reason = "new_root"          // the first request, or one that shares nothing with the path
	ToolsChanged Reason = "tools_changed"     // other tools are offered
	HistoryEdit  Reason = "history_edit"      // an earlier message was changed
	Compaction   Reason = "compaction"        // the history became shorter
	NotLocal     Reason = "template_nonlocal" // the template gives no border to continue at (ErrNotLocal)
)

// Decision is how a request relates to a path.
type Decision struct {
	Next   []Message // the messages behind the path's last turn, when the request extends it
	Reason Reason    // "" when it does
}

// Stitch compares a request with the path so far, which ends with a sampled turn. Messages of others must be equal; an
// assistant's turn is recognised although its reasoning was dropped, its text trimmed or its calls renumbered, because the
// sampled ids are kept, not the client's copy.
func Stitch(path, request Conversation) Decision {
	if len(path.Messages) == 0 {
		return Decision{Reason: NewRoot}
	}
	same := commonPrefix(path.Messages, request.Messages)
	switch {
	case same == 0:
		return Decision{Reason: NewRoot}
	case !slices.EqualFunc(path.Tools, request.Tools, func(a, b ToolSpec) bool { return a.Spec.Equal(b.Spec) }):
		return Decision{Reason: ToolsChanged}
	case same == len(path.Messages):
		return Decision{Next: request.Messages[same:]}
	case len(request.Messages) < len(path.Messages):
		return Decision{Reason: Compaction}
	}
	return Decision{Reason: HistoryEdit}
}

// commonPrefix counts the messages at the start of both.
func commonPrefix(path, request []Message) int {
	n := 0
	for n < len(path) && n < len(request) && (path[n].Equal(&request[n]) || path[n].SameTurn(&request[n])) {
		n++
	}
	return n
}
