// Conversations for people: logs, tests and the tree that a session exports.

package wire

import (
	"fmt"
	"strings"

	"molt/chat"
)

// Transcript writes one line for each message: its role, (reasoning), "content", calls, [parts], <- what a tool answers to,
// = handles.
func Transcript(items []*chat.Item) string {
	var b strings.Builder
	for _, it := range items {
		m := &it.Message
		b.WriteString(string(m.Role))
		if m.Reasoning != "" {
			fmt.Fprintf(&b, " (%s)", strings.ReplaceAll(m.Reasoning, "\n", `\n`))
		}
		fmt.Fprintf(&b, " %q", m.Content)
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " %s:%s%s", c.ID, c.Name, c.Arguments)
		}
		for _, p := range m.Parts {
			if p.Image == nil {
				fmt.Fprintf(&b, " [%s]", p.Text)
			} else {
				fmt.Fprintf(&b, " [%.14s %s]", p.Image.Digest, p.Image.Media)
			}
		}
		if m.ToolCallID != "" {
			fmt.Fprintf(&b, " <- %s", m.ToolCallID)
		}
		if len(it.Handles) > 0 {
			fmt.Fprintf(&b, " = %s", strings.Join(it.Handles, " "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
