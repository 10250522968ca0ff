package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"molt/chat/parse"
	"molt/gateway/capture"
	"molt/gateway/script"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))
}

// lab is a server on a script, with one session.
type lab struct {
	t       testing.TB
	url     string
	gateway *capture.Gateway
	session Opened
	server  *Server
}

func newLab(t testing.TB, lines []script.Line, change func(*Config, *capture.Config)) *lab {
	t.Helper()
	r, err := script.Model()
	if err != nil {
		t.Fatal(err)
	}
	end, _ := r.EndOfTurn()
	family, err := parse.Named("hermes")
	if err != nil {
		t.Fatal(err)
	}
	c := capture.Defaults()
	c.Generator, c.Renderer, c.Family, c.Linger = script.New(lines, r.Tokenizer(), end, 1<<16), r, family, 0
	c.Resume = 0
	var config Config
	if change != nil {
		change(&config, &c)
	}
	g, err := capture.New(c)
	if err != nil {
		t.Fatal(err)
	}
	config.Gateway = g
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	l := &lab{t: t, url: h.URL, gateway: g, server: s}
	status, body := l.do("POST", "/sessions", `{"seed":1}`, "Authorization", "Bearer "+config.Token)
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if err := json.Unmarshal([]byte(body), &l.session); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) do(method, path, body string, headers ...string) (int, string) {
	l.t.Helper()
	response := l.send(method, path, strings.NewReader(body), headers...)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil && !strings.Contains(err.Error(), "EOF") {
		l.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func (l *lab) send(method, path string, body io.Reader, headers ...string) *http.Response {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), method, l.url+path, body)
	if err != nil {
		l.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	return response
}

func text(texts ...string) (lines []script.Line) {
	for _, t := range texts {
		lines = append(lines, script.Line{Text: t})
	}
	return lines
}

const bash = `<tool_call>
{"name": "bash", "arguments": {"command": "ls"}}
</tool_call>`

// TestThreeWires asks on each wire, whole and streamed.
func TestThreeWires(t *testing.T) {
	for _, c := range []struct{ name, path, body, whole, streamed string }{
		{"chat", "/v1/chat/completions",
			`{"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"bash"}}],"stream":%t,"stream_options":{"include_usage":true}}`,
			`"name":"bash","arguments":"{\"command\":\"ls\"}"`, "data: [DONE]\n\n"},
		{"responses", "/v1/responses",
			`{"input":"hi","tools":[{"type":"function","name":"bash"}],"stream":%t}`,
			`"name":"bash","arguments":"{\"command\":\"ls\"}"`, "event: response.completed\n"},
		{"messages", "/v1/messages?beta=true",
			`{"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"bash","input_schema":{}}],"stream":%t,"max_tokens":100}`,
			`"name":"bash","input":{"command":"ls"}`, "event: message_stop\n"},
	} {
		l := newLab(t, text("On it."+bash, "On it."+bash), nil)
		status, body := l.do("POST", "/s/"+l.session.Key+c.path, fmt.Sprintf(c.body, false))
		if status != 200 || !strings.Contains(body, c.whole) || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
		status, body = l.do("POST", c.path, fmt.Sprintf(c.body, true), "Authorization", "Bearer "+l.session.Key)
		if status != 200 || !strings.Contains(body, c.streamed) || !strings.Contains(body, "bash") || strings.Contains(body, "error\":{") {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
		_, body = l.do("GET", "/sessions/"+l.session.ID+"/export", "")
		var e capture.Export
		if err := json.Unmarshal([]byte(body), &e); err != nil || len(e.Tree) != 2 || len(e.Segments) != 2 || e.Segments[1].Reason != "sibling" {
			t.Errorf("%s: %v, %.300s", c.name, err, body)
		}
	}
}

// TestFull: a server with as many sessions as it may have says when to come back.
func TestFull(t *testing.T) {
	l := newLab(t, nil, func(_ *Config, c *capture.Config) { c.Sessions = 1 })
	response := l.send("POST", "/sessions", nil)
	defer response.Body.Close()
	if response.StatusCode != 429 || response.Header.Get("Retry-After") != "60" {
		t.Errorf("%d, Retry-After %q", response.StatusCode, response.Header.Get("Retry-After"))
	}
}

// TestExports: a shell that evaluates the answer can reach the session.
func TestExports(t *testing.T) {
	l := newLab(t, text("hello"), nil)
	status, lines := l.do("POST", "/sessions?format=env", "")
	script := lines + `printf '%s %s %s %s %s' "$OPENAI_BASE_URL" "$OPENAI_API_KEY" "$ANTHROPIC_BASE_URL" "$ANTHROPIC_API_KEY" "$MOLT_SESSION"`
	out, err := exec.Command("sh", "-c", script).Output()
	if status != 200 || err != nil {
		t.Fatal(status, err)
	}
	f := strings.Fields(string(out))
	if len(f) != 5 || f[1] != f[3] || f[0] != l.url+"/s/"+f[1]+"/v1" || f[2] != l.url+"/s/"+f[1] {
		t.Fatalf("%q", out)
	}
	if status, body := l.do("POST", strings.TrimPrefix(f[2], l.url)+"/v1/messages", `{"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`); status != 200 || !strings.Contains(body, "hello") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := l.do("GET", "/sessions/"+f[4]+"/export", ""); status != 200 || !strings.Contains(body, `"segments":[{`) {
		t.Errorf("%d %s", status, body)
	}
}

// TestOptionsOfASession: what no rollout can have is refused, with its name.
func TestOptionsOfASession(t *testing.T) {
	l := newLab(t, nil, nil)
	for body, want := range map[string]string{
		`{"max_tokens":-1}`:       "max_tokens is -1",
		`{"attempt":-2}`:          "attempt is -2",
		`{"sample":-3}`:           "sample is -3",
		`{"sample":2147483648}`:   "sample is 2147483648",
		`{"max_tokens":"unread"}`: "max_tokens: is a string; want an integer",
	} {
		if status, text := l.do("POST", "/sessions", body); status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
}

func TestPaths(t *testing.T) {
	l := newLab(t, []script.Line{{Text: "ok", Loop: true}}, nil)
	key := l.session.Key
	chat, message := `{"messages":[{"role":"user","content":"hi"}]}`, `{"messages":[{"role":"user","content":"hi"}],"max_tokens":9}`
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		want               string
	}{
		{"GET", "/", "", nil, 200, "molt"},
		{"HEAD", "/s/" + key, "", nil, 200, ""},
		{"POST", "/s/" + key + "/chat/completions", chat, nil, 200, "chat.completion"},
		{"POST", "/s/" + key + "/v1/v1/messages", message, nil, 200, "end_turn"},
		{"POST", "/v1/messages", message, []string{"x-api-key", key}, 200, "end_turn"},
		{"POST", "/v1/messages", message, []string{"x-api-key", "wrong"}, 401, "authentication_error"},
		{"POST", "/v1/chat/completions", chat, nil, 401, "invalid_api_key"},
		{"POST", "/s/" + key[:len(key)-1] + "/v1/chat/completions", chat, nil, 401, "invalid_api_key"},
		{"POST", "/s/" + l.session.ID + "/v1/chat/completions", chat, nil, 401, "invalid_api_key"},
		{"POST", "/s/" + key + "/v1/responses/compact", "{}", nil, 404, "no such endpoint"},
		{"POST", "/s/" + key + "/../sessions", "{}", nil, 404, "no such path"},
		{"GET", "/s/" + key + "/v1/responses", "", []string{"Upgrade", "websocket", "Connection", "Upgrade"}, 426, "send a POST"},
		{"GET", "/s/" + key + "/v1/models", "", nil, 200, `"has_more":false`},
		{"GET", "/s/" + key + "/v1/models/gpt-x", "", nil, 200, `"id":"gpt-x"`},
		{"POST", "/s/" + key + "/v1/messages/count_tokens", message, []string{"anthropic-version", "2023-06-01"}, 200, `{"input_tokens":`},
		{"POST", "/s/" + key + "/v1/responses/input_tokens", `{"input":"hi"}`, nil, 200, `"input_tokens":`},
		{"POST", "/s/" + key + "/v1/completions", `{"prompt":[65,66],"max_tokens":5,"return_token_ids":true}`, nil, 200, `"prompt_token_ids":[65,66]`},
		{"POST", "/s/" + key + "/v1/chat/completions", chat, []string{"Content-Encoding", "zstd"}, 415, "coded as zstd"},
		{"POST", "/s/" + key + "/v1/chat/completions", `{`, nil, 400, "invalid_request_error"},
		{"POST", "/sessions", `{"unheard":1}`, nil, 400, "unheard: there is no such field"},
		{"POST", "/sessions", ``, []string{"Origin", "https://evil.example"}, 401, "web pages"},
		{"GET", "/sessions/nobody/export", "", nil, 404, "no open session"},
		{"GET", "/sessions", "", nil, 200, `"turns":`},
		{"DELETE", "/sessions/" + l.session.ID, "", nil, 200, "closed"},
		{"POST", "/s/" + key + "/v1/chat/completions", chat, nil, 401, "invalid_api_key"},
	} {
		status, body := l.do(c.method, c.path, c.body, c.headers...)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s; want %d with %q", c.method, c.path, status, body, c.status, c.want)
		}
	}
}

// TestErrorsHaveTheirStatus: what comes before the first token is no 200.
func TestErrorsHaveTheirStatus(t *testing.T) {
	message := `{"messages":[{"role":"user","content":"hi"}],"max_tokens":9,"stream":true}`
	chat := `{"messages":[{"role":"user","content":"hi"}],"stream":true}`
	l := newLab(t, []script.Line{
		{Trouble: "unavailable"}, {Trouble: "unavailable"}, {Trouble: "broken"}, {Text: "half a reply", Trouble: "unavailable", After: 3},
		{Text: "half a reply", Trouble: "unavailable", After: 3}, {Text: "half a reply", Trouble: "unavailable", After: 3},
	}, nil)
	key := "/s/" + l.session.Key
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/messages", message, 529, "overloaded_error"},
		{"/v1/chat/completions", chat, 503, "server_error"},
		{"/v1/chat/completions", chat, 500, "internal_error"},
		{"/v1/responses", `{"input":"hi","stream":true}`, 200, "event: response.failed\n"},
	} {
		status, body := l.do("POST", key+c.path, c.body)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s; want %d with %q", c.path, status, body, c.status, c.want)
		}
	}
	for path, body := range map[string]string{"/v1/messages": message, "/v1/chat/completions": chat} {
		response := l.send("POST", key+path, strings.NewReader(body))
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err == nil || response.StatusCode != 200 || !strings.Contains(string(text), "h") || strings.Contains(string(text), "error") {
			t.Errorf("%s: a stream that breaks ends with %v: %s", path, err, text)
		}
	}
	long := strings.Repeat("word ", 1<<16)
	status, body := l.do("POST", key+"/v1/messages", `{"messages":[{"role":"user","content":"`+long+`"}],"max_tokens":9}`)
	if status != 400 || !strings.Contains(body, "prompt is too long: ") || !strings.Contains(body, " tokens > 65536 maximum") {
		t.Errorf("%d %s", status, body)
	}
}

// TestScriptsEnd: what no script line answers is an error that no client tries again.
func TestScriptsEnd(t *testing.T) {
	l := newLab(t, nil, nil)
	key := "/s/" + l.session.Key
	for path, body := range map[string]string{
		"/v1/messages":         `{"messages":[{"role":"user","content":"hi"}],"max_tokens":9}`,
		"/v1/chat/completions": `{"messages":[{"role":"user","content":"hi"}],"stream":true}`,
		"/v1/responses":        `{"input":"hi"}`,
		"/v1/completions":      `{"prompt":"hi"}`,
	} {
		status, answer := l.do("POST", key+path, body)
		if status != 400 || !strings.Contains(answer, "invalid_request_error") || !strings.Contains(answer, "no line left for this prompt") {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
}

// TestTokensComeOneByOne: a client reads the first word while the last is not sampled yet.
func TestTokensComeOneByOne(t *testing.T) {
	l := newLab(t, []script.Line{{Text: "one two three", Trouble: "hang", After: 4}}, func(c *Config, _ *capture.Config) { c.Alive = 20 * time.Millisecond })
	response := l.send("POST", "/s/"+l.session.Key+"/v1/chat/completions", strings.NewReader(`{"messages":[{"role":"user","content":"hi"}],"stream":true}`))
	defer response.Body.Close()
	var got strings.Builder
	alive := 0
	for lines := bufio.NewScanner(response.Body); alive < 2 && lines.Scan(); {
		got.WriteString(lines.Text() + "\n")
		if lines.Text() == ": keepalive" {
			alive++
		}
	}
	if !strings.Contains(got.String(), `"content":"o`) || strings.Contains(got.String(), "finish_reason\":\"") {
		t.Errorf("%s", got.String())
	}
}

// TestALongPromptIsAlive: a reply that takes its time has headers and signs of life before its first token.
func TestALongPromptIsAlive(t *testing.T) {
	l := newLab(t, []script.Line{{Text: "one", Trouble: "hang"}}, func(c *Config, _ *capture.Config) { c.Alive = 20 * time.Millisecond })
	response := l.send("POST", "/s/"+l.session.Key+"/v1/messages", strings.NewReader(`{"messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":9}`))
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	pings := 0
	for pings < 2 && lines.Scan() {
		if lines.Text() == "event: ping" {
			pings++
		}
	}
	if response.StatusCode != 200 || pings != 2 {
		t.Errorf("%d, %d pings", response.StatusCode, pings)
	}
}

func TestLimits(t *testing.T) {
	l := newLab(t, []script.Line{{Text: "ok", Loop: true}}, func(c *Config, _ *capture.Config) { c.Body, c.Read = 1000, 50*time.Millisecond })
	path := "/s/" + l.session.Key + "/v1/chat/completions"
	if status, body := l.do("POST", path, `{"messages":[{"role":"user","content":"`+strings.Repeat("x", 1000)+`"}]}`); status != 413 || !strings.Contains(body, "too large") {
		t.Errorf("%d %s", status, body)
	}
	endless := io.MultiReader(strings.NewReader(`{"messages":[`), &repeating{})
	if response := l.send("POST", path, endless); response.StatusCode != 413 {
		t.Errorf("a chunked body without end: %d", response.StatusCode)
	} else {
		response.Body.Close()
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(l.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{", path)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(answer, "400") {
		t.Errorf("a body that does not come: %q, %v", answer, err)
	}
}

type repeating struct{}

func (*repeating) Read(b []byte) (int, error) {
	return copy(b, bytes.Repeat([]byte("1,"), len(b)/2)), nil
}

func TestTokens(t *testing.T) {
	l := newLab(t, nil, func(c *Config, _ *capture.Config) { c.Token = "secret" })
	if status, _ := l.do("POST", "/sessions", ""); status != 401 {
		t.Errorf("without the token: %d", status)
	}
	if status, _ := l.do("GET", "/sessions/"+l.session.ID+"/export", "", "Authorization", "Bearer secret"); status != 200 {
		t.Errorf("with it: %d", status)
	}
	if _, err := Listen("0.0.0.0:0", "", nil); err == nil || !strings.Contains(err.Error(), "needs a token and a certificate") {
		t.Errorf("%v", err)
	}
}

// TestServe: a server ends when its context does, streams and all.
func TestServe(t *testing.T) {
	lab := newLab(t, []script.Line{{Text: "one", Trouble: "hang", After: 1}}, nil)
	l, err := Listen("127.0.0.1:0", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- lab.server.Serve(ctx, l) }()
	lab.url = "http://" + l.Addr().String()
	response := lab.send("POST", "/s/"+lab.session.Key+"/v1/chat/completions", strings.NewReader(`{"messages":[{"role":"user","content":"hi"}],"stream":true}`))
	defer response.Body.Close()
	if _, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestStoredReplies: the Responses wire can go on from a reply by its name, and name its items.
func TestStoredReplies(t *testing.T) {
	l := newLab(t, text("<think>\nhm\n</think>\n\nOn it."+bash, "done", "never"), nil)
	path := "/s/" + l.session.Key + "/v1/responses"
	_, body := l.do("POST", path, `{"input":"hi","tools":[{"type":"function","name":"bash"}]}`)
	var first struct {
		ID     string
		Output []struct {
			ID     string
			CallID string `json:"call_id"`
		}
	}
	if err := json.Unmarshal([]byte(body), &first); err != nil || len(first.Output) != 3 {
		t.Fatalf("%v %s", err, body)
	}
	status, body := l.do("POST", path, fmt.Sprintf(`{"previous_response_id":%q,"input":[{"type":"function_call_output","call_id":%q,"output":"x"}],"tools":[{"type":"function","name":"bash"}],"store":false}`, first.ID, first.Output[2].CallID))
	if status != 200 || !strings.Contains(body, "done") {
		t.Fatalf("%d %s", status, body)
	}
	var second struct{ ID string }
	if err := json.Unmarshal([]byte(body), &second); err != nil {
		t.Fatal(err)
	}
	if status, body := l.do("POST", path, fmt.Sprintf(`{"previous_response_id":%q,"input":"more"}`, second.ID)); status != 404 {
		t.Errorf("a reply that was not stored: %d %s", status, body)
	}
	if status, body := l.do("POST", path, fmt.Sprintf(`{"input":[{"role":"user","content":"hi"},{"type":"item_reference","id":%q},{"type":"item_reference","id":%q},{"type":"item_reference","id":%q},{"type":"function_call_output","call_id":%q,"output":"y"}],"tools":[{"type":"function","name":"bash"}]}`,
		first.Output[0].ID, first.Output[1].ID, first.Output[2].ID, first.Output[2].CallID)); status != 200 {
		t.Errorf("references: %d %s", status, body)
	}
	session, _ := l.gateway.Find(l.session.Key)
	var parents []int
	for _, n := range session.Nodes() {
		parents = append(parents, n.Parent)
	}
	if fmt.Sprint(parents) != "[-1 0 0]" {
		t.Errorf("parents %v", parents)
	}
}

func TestAgents(t *testing.T) {
	l := newLab(t, []script.Line{{Text: "ok", Loop: true}}, nil)
	path := "/s/" + l.session.Key + "/v1/chat/completions"
	tools := `,"tools":[{"type":"function","function":{"name":"bash"}}]}`
	for _, c := range []struct {
		body    string
		headers []string
	}{
		{`{"messages":[{"role":"user","content":"main"}]` + tools, []string{"thread-id", "t1", "session-id", "t1"}},
		{`{"messages":[{"role":"user","content":"claude"}]` + tools, []string{"x-claude-code-agent-id", "a1", "x-claude-code-parent-agent-id", "a0"}},
		{`{"messages":[{"role":"user","content":"codex"}]` + tools, []string{"thread-id", "t2", "x-codex-parent-thread-id", "t1", "x-openai-subagent", "collab_spawn"}},
		{`{"messages":[{"role":"user","content":"opencode"}]` + tools, []string{"x-session-id", "s2", "x-parent-session-id", "s1"}},
		{`{"messages":[{"role":"user","content":"title"}]}`, nil},
		{`{"messages":[{"role":"user","content":"compact"}]` + tools, []string{"x-codex-turn-metadata", `{"request_kind":"compaction"}`, "x-codex-window-id", "w:0"}},
		{`{"messages":[{"role":"user","content":"compacted"}]` + tools, []string{"x-codex-window-id", "w:1"}},
	} {
		if status, body := l.do("POST", path, c.body, c.headers...); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
	session, _ := l.gateway.Find(l.session.Key)
	var got []string
	for _, s := range session.Export().Segments {
		got = append(got, fmt.Sprint(s.Kind, " ", s.Agent.ID, " ", s.Agent.Parent, " ", s.Agent.Kind, " ", s.Reason))
	}
	want := "[main    new_root sub-agent a1 a0  new_root sub-agent t2 t1 collab_spawn new_root sub-agent s2 s1  new_root background    new_root compaction   compaction new_root main    compaction]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestChoicesStream: two choices share a stream, each with its own index and end, and every token is reported once.
func TestChoicesStream(t *testing.T) {
	l := newLab(t, text("one", "two"), nil)
	_, body := l.do("POST", "/s/"+l.session.Key+"/v1/chat/completions",
		`{"messages":[{"role":"user","content":"hi"}],"stream":true,"n":2,"logprobs":true,"return_token_ids":true,"stream_options":{"include_usage":true}}`)
	texts, tokens, logprobs, ends := map[int]string{}, 0, 0, 0
	for _, line := range strings.Split(body, "\n") {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var chunk struct {
			Choices []struct {
				Index    int
				Delta    struct{ Content string }
				Finish   *string `json:"finish_reason"`
				IDs      []int   `json:"token_ids"`
				Logprobs *struct{ Content []struct{ Logprob float64 } }
			}
			Usage *struct {
				Completion int `json:"completion_tokens"`
			}
		}
		if err := json.Unmarshal([]byte("{"+data), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices {
			texts[c.Index] += c.Delta.Content
			tokens += len(c.IDs)
			if c.Logprobs != nil {
				logprobs += len(c.Logprobs.Content)
			}
			if c.Finish != nil {
				ends++
			}
		}
		if chunk.Usage != nil && chunk.Usage.Completion != tokens {
			t.Errorf("usage says %d tokens, %d were reported", chunk.Usage.Completion, tokens)
		}
	}
	if texts[0] == texts[1] || len(texts) != 2 || ends != 2 || tokens == 0 || tokens != logprobs {
		t.Errorf("texts %v, %d ends, %d tokens, %d log-probs\n%s", texts, ends, tokens, logprobs, body)
	}
}

// TestARetryTakesOver: a client whose connection breaks asks again, and gets the reply that is being sampled.
func TestARetryTakesOver(t *testing.T) {
	lines := []script.Line{{Text: "one two three four five", Trouble: "slow", Pause: 10}, {Text: "another"}}
	l := newLab(t, lines, func(_ *Config, c *capture.Config) { c.Linger = time.Minute })
	path, body := "/s/"+l.session.Key+"/v1/messages", `{"messages":[{"role":"user","content":"hi"}],"max_tokens":99,"stream":true}`
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", l.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cancel()
	response.Body.Close()
	session, _ := l.gateway.Find(l.session.Key)
	for session.Attended() { // until the server has noticed
		runtime.Gosched()
	}
	status, text := l.do("POST", path, body)
	said := ""
	for _, line := range strings.Split(text, "\n") {
		var event struct{ Delta struct{ Text string } }
		if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &event) == nil {
			said += event.Delta.Text
		}
	}
	if status != 200 || said != "one two three four five" {
		t.Errorf("%d %q", status, said)
	}
	if n := session.Nodes(); len(n) != 1 {
		t.Errorf("%d turns", len(n))
	}
}
