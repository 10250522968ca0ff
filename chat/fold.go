// System messages where a template does not take them.

package chat

import (
	"slices"
)

const (
	reminderOpen  = "<system-reminder>\n"
	reminderClose = "\n</system-reminder>"
)

// Fold rewrites system messages for templates that take one at the start and no other: those that the conversation begins
// with become one, every later one becomes a user message that says it is a reminder. What a message becomes depends on
// nothing behind the first other message, so a conversation that grows never changes what was shown before.
func Fold(messages []Message) []Message {
	start := 0
	for start < len(messages) && messages[start].Role == System {
		start++
	}
	folded := make([]Message, 0, len(messages))
	if start > 0 {
		first := messages[0]
		for _, m := range messages[1:start] {
			first.Content += "\n\n" + m.Content
		}
		folded = append(folded, first)
	}
	return append(folded, FoldLater(messages[start:])...)
}

// FoldLater is Fold for messages that continue a conversation.
func FoldLater(messages []Message) []Message {
	folded := slices.Clone(messages)
	for i, m := range folded {
		if m.Role == System {
			folded[i] = Message{Role: User, Content: reminderOpen + m.Content + reminderClose}
		}
	}
	return folded
}
