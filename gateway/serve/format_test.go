package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"molt/engine/enginetest"
	"molt/gateway/capture"
)

// TestFormats asks for a schema on each wire, of an engine that knows no JSON.
func TestFormats(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"type":"array","items":{"type":"boolean"},"maxItems":2}},"required":["a","b"],"additionalProperties":false}`
	for _, c := range []struct{ name, path, body, format string }{
		{"chat", "/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}],"response_format":%s}`,
			`{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":` + schema + `}}`},
		{"responses", "/v1/responses", `{"input":"hi","text":{"format":%s}}`, `{"type":"json_schema","name":"n","strict":true,"schema":` + schema + `}`},
		{"messages", "/v1/messages", `{"messages":[{"role":"user","content":"hi"}],"max_tokens":4000,"output_config":{"format":%s}}`,
			`{"type":"json_schema","schema":` + schema + `}`},
	} {
		l := newLab(t, nil, func(_ *Config, c *capture.Config) {
			c.Generator = enginetest.NewScript(enginetest.ScriptConfig{Vocab: c.Renderer.Tokenizer().VocabSize(), MaxTokens: 1 << 16})
		})
		status, body := l.do("POST", c.path, fmt.Sprintf(c.body, c.format), "Authorization", "Bearer "+l.session.Key)
		_, tree := l.do("GET", "/sessions/"+l.session.ID+"/export", "")
		var e capture.Export
		if err := json.Unmarshal([]byte(tree), &e); status != 200 || err != nil || len(e.Tree) != 1 || e.Tree[0].Untrained == "" {
			t.Fatalf("%s: %d %s, %v", c.name, status, body, err)
		}
		var v struct {
			A string
			B *[]bool
		}
		said := e.Tree[0].Message.Content
		if err := json.Unmarshal([]byte(said), &v); err != nil || v.A != "x" && v.A != "y" || v.B == nil || len(*v.B) > 2 {
			t.Errorf("%s: %s: %v", c.name, said, err)
		}
		if quoted, _ := json.Marshal(said); !strings.Contains(body, string(quoted)) {
			t.Errorf("%s: the reply is not what was sampled: %s", c.name, body)
		}
		bad := strings.Replace(c.format, `"maxItems":2`, `"uniqueItems":true`, 1)
		status, body = l.do("POST", c.path, fmt.Sprintf(c.body, bad), "Authorization", "Bearer "+l.session.Key)
		if status != 400 || !strings.Contains(body, "uniqueItems") {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
}
