package capture

import (
	"testing"

	"molt/chat"
	"molt/chat/parse"
	"molt/chat/shape"
	"molt/gateway/wire"
)

// TestOpenings: what is shown as the beginning of a call, and what a model of the family goes on with, are one call.
func TestOpenings(t *testing.T) {
	schema, err := chat.ParseValue([]byte(`{"type": "object", "properties": {"item": {"type": "string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	offered := []chat.ToolSpec{chat.NewToolSpec("lookup", "", schema)}
	ends := map[string]string{ // behind the name
		"hermes":      "{\"item\": \"pen\"}}\n</tool_call>",
		"qwen3-coder": "<parameter=item>\npen\n</parameter>\n</function>\n</tool_call>",
		"seed-oss":    "<parameter=item>\npen\n</parameter>\n</function>\n</seed:tool_call>",
		"glm":         "<arg_key>item</arg_key>\n<arg_value>pen</arg_value>\n</tool_call>",
		"llama3-json": "{\"item\": \"pen\"}}",
		"mistral":     "{\"item\": \"pen\"}",
		"deepseek":    "{\"item\": \"pen\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	}
	for name, rest := range ends {
		family, err := parse.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, prompt := range []string{"assistant\n", "assistant\n<think>\n", "assistant\n<seed:think>\n"} {
			for _, choice := range []wire.Choice{{Mode: wire.Required, Only: []string{"lookup"}}, {Mode: wire.Required}} {
				parts, ok := forced(family, choice, prompt)
				if !ok {
					t.Fatalf("%s: no opening", name)
				}
				text := ""
				for _, p := range parts {
					text += p.Text
				}
				rest := rest
				if choice.Only == nil {
					_, behind, _, _ := shape.Opening(family)
					rest = "lookup" + behind + rest
				}
				p := family.New(prompt, offered)
				p.Write(text, 0)
				p.Write(rest, 1)
				p.Close()
				reply := p.Reply()
				m := reply.Message()
				if len(m.ToolCalls) != 1 || m.ToolCalls[0].Name != "lookup" || m.ToolCalls[0].Arguments.String() != `{"item":"pen"}` {
					t.Errorf("%s behind %q: %q is %+v", name, prompt, text+rest, m)
				}
			}
		}
	}
	plain, err := parse.Named("plain")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := forced(plain, wire.Choice{Mode: wire.Required}, ""); ok {
		t.Error("a model without a syntax is made to call")
	}
}
