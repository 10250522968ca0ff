package serve

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"molt/engine/enginetest"
	"molt/gateway/capture"
	"molt/gateway/script"
	"molt/gateway/wire/wiretest"
)

// pictures shows an image on each wire: of a user, and as the result of a tool.
var pictures = []struct{ name, path, body, refusal string }{
	{"chat", "/v1/chat/completions",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"%[1]s"}}]},
		 {"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":"{}"}}]},
		 {"role":"tool","tool_call_id":"c","content":[{"type":"image_url","image_url":{"url":"%[1]s"}}]}]}`,
		`"type":"invalid_request_error"`},
	{"responses", "/v1/responses",
		`{"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"%[1]s"}]},
		 {"type":"function_call","call_id":"c","name":"read","arguments":"{}"},
		 {"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"%[1]s"}]}]}`,
		`"type":"invalid_request_error"`},
	{"messages", "/v1/messages",
		`{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%[2]s"}}]},
		 {"role":"assistant","content":[{"type":"tool_use","id":"c","name":"read","input":{}}]},
		 {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%[2]s"}}]}]}]}`,
		`{"type":"error","error":{"type":"invalid_request_error"`},
}

// TestImagesOnEveryWire: the three wires show one conversation, whose images the export names and the session gives out.
func TestImagesOnEveryWire(t *testing.T) {
	l := newLab(t, []script.Line{{Text: "ok", Loop: true}}, nil)
	for _, c := range pictures {
		status, body := l.do("POST", "/s/"+l.session.Key+c.path, fmt.Sprintf(c.body, "data:image/png;base64,"+wiretest.PNG, wiretest.PNG))
		if status != 200 || !strings.Contains(body, "ok") {
			t.Fatalf("%s: %d %s", c.name, status, body)
		}
	}
	_, body := l.do("GET", "/sessions/"+l.session.ID+"/export", "")
	var e capture.Export
	if err := json.Unmarshal([]byte(body), &e); err != nil || len(e.Tree) != 3 || len(e.Images) != 1 {
		t.Fatalf("%v, %.500s", err, body)
	}
	for i, n := range e.Tree {
		if len(n.Images) != 2 || n.Images[0].Digest != e.Images[0].Digest || fmt.Sprint(n.Observation) != fmt.Sprint(e.Tree[0].Observation) {
			t.Errorf("turn %d was shown %v and %v", i, n.Observation, n.Images)
		}
	}
	response := l.send("GET", "/sessions/"+l.session.ID+"/images/"+e.Images[0].Digest, nil)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || base64.StdEncoding.EncodeToString(data) != wiretest.PNG || response.Header.Get("Content-Type") != "image/png" || response.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%q, %v, %v", data, response.Header, err)
	}
	for path, want := range map[string]int{"sha256:0": 404, "": 404, e.Images[0].Digest + "/x": 404} {
		if status, _ := l.do("GET", "/sessions/"+l.session.ID+"/images/"+path, ""); status != want {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _ := l.do("GET", "/sessions/"+l.session.ID+"/images/"+e.Images[0].Digest, "", "Origin", "http://x"); status != 401 {
		t.Errorf("a web page is given an image: %d", status)
	}
}

// TestTextOnly: a model that reads text only says so in its vendor's words, with its name, whatever the wire.
func TestTextOnly(t *testing.T) {
	l := newLab(t, nil, func(_ *Config, c *capture.Config) {
		c.Generator = enginetest.NewScript(enginetest.ScriptConfig{Vocab: c.Renderer.Tokenizer().VocabSize(), MaxTokens: 1 << 16, TextOnly: true})
		c.Model = "small"
	})
	for _, c := range pictures {
		for _, path := range []string{c.path, c.path + "/count_tokens"} {
			if path != c.path && c.name != "messages" {
				continue
			}
			status, body := l.do("POST", "/s/"+l.session.Key+path, fmt.Sprintf(c.body, "data:image/png;base64,"+wiretest.PNG, wiretest.PNG))
			if status != 400 || !strings.Contains(body, "small is a text-only model: leave images out") || !strings.Contains(body, c.refusal) {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
		status, body := l.do("POST", "/s/"+l.session.Key+c.path, fmt.Sprintf(c.body, "http://169.254.169.254/a.png", "aGk="))
		if status != 400 || !strings.Contains(body, c.refusal) || !strings.Contains(body, "images are not fetched") && !strings.Contains(body, "is no image in") {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
}
