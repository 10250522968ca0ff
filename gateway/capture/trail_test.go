package capture

import (
	"slices"
	"strings"
	"testing"

	"molt/chat"
	"molt/engine"
)

// TestNobodyAppendsToAnothersPrompt: while a turn is sampled behind an answer, the answer's request is answered again.
func TestNobodyAppendsToAnothersPrompt(t *testing.T) {
	asked, again := make(chan bool), make(chan bool)
	answers := inOrder("one", "another, and longer than what goes on from the first")
	w := newWorld(t, func(r engine.Request) []int32 {
		if !strings.Contains(testTokenizer().Decode(r.Prompt), "go on") {
			return answers(r)
		}
		close(asked)
		<-again
		return speak("done")
	}, nil)
	first := []chat.Message{user(strings.Repeat("a word ", 300))}
	w.ask(first, nil)
	done := make(chan bool)
	go func() {
		defer close(done)
		w.ask(append(slices.Clip(first), said("one"), user("go on")), nil)
	}()
	<-asked
	w.ask(first, nil)
	close(again)
	<-done
	w.sound()
}
