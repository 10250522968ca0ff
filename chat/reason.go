package chat

// Reason says why a request starts a new segment.
type Reason string

const (
	NewRoot      Reason = "new_root"          // the first request, or one that shares nothing with the path
	ToolsChanged Reason = "tools_changed"     // other tools are offered
	HistoryEdit  Reason = "history_edit"      // an earlier message was changed
	Compaction   Reason = "compaction"        // the history became shorter
	NotLocal     Reason = "template_nonlocal" // the template gives no border to continue at (ErrNotLocal)
)
