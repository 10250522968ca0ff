package shop

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"molt/agent"
	"molt/chat"
)

// policy answers with replies, one after the other, and keeps what it was asked.
func policy(t *testing.T, finish string, replies ...string) (agent.Address, *[]string) {
	t.Helper()
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct{ Content string } `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer key" {
			t.Errorf("%s, %v", r.URL, err)
		}
		turn := len(asked)
		asked = append(asked, body.Messages[len(body.Messages)-1].Content)
		if turn >= len(replies) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		message := map[string]any{"role": "assistant", "content": replies[turn]}
		json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": message, "finish_reason": finish}}})
	}))
	t.Cleanup(s.Close)
	return agent.Address{URL: s.URL, Key: "key", Model: "policy"}, &asked
}

// TestChatPlaysTheSameGame: an episode over HTTP is answered and paid as Env answers and pays it.
func TestChatPlaysTheSameGame(t *testing.T) {
	list := List{Buy: []Entry{{3, "pen", 4}, {2, "cup", 7}}, Total: 26}
	label, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	task := agent.Task{ID: "one", Messages: []chat.Message{{Role: chat.User, Content: list.question()}}, Label: string(label)}
	for name, c := range map[string]struct {
		finish    string
		replies   []string
		reward    float64
		truncated bool
		heard     []string
	}{
		"right": {"stop", []string{toolCall("lookup", "item", "pens"), toolCall("lookup", "item", "pen"), toolCall("calc", "expression", "3*4+2*7"), answer("26")}, 1, false,
			[]string{list.question(), "error: unknown item", "4", "26"}},
		"wrong":             {"stop", []string{answer("25")}, 0, false, []string{list.question()}},
		"cut":               {"length", []string{answer("26")}, 0, true, []string{list.question()}},
		"unreadable":        {"stop", []string{"<tool_call>{</tool_call>", "hm", answer("26")}, 1, false, []string{list.question(), "error: bad call", "error: no call and no answer"}},
		"out of turns":      {"stop", []string{"a", "b", "c", "d", "e", "f", "g"}, 0, true, nil},
		"an unclosed call ": {"stop", []string{`<tool_call>{"name": "calc", "arguments": {"expression": "1+1"}}`, answer("26")}, 1, false, []string{list.question(), "2"}},
	} {
		address, asked := policy(t, c.finish, c.replies...)
		result, err := NewChat().Run(context.Background(), agent.ChatContext{Task: task, Address: address})
		if err != nil || result.Reward != c.reward || result.Truncated != c.truncated {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
		if c.heard != nil && strings.Join(*asked, "|") != strings.Join(c.heard, "|") {
			t.Errorf("%s: heard %q", name, *asked)
		}
	}
	address, _ := policy(t, "stop")
	if _, err := NewChat().Run(context.Background(), agent.ChatContext{Task: task, Address: address}); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("a refused request: %v", err)
	}
}
