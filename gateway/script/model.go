package script

import (
	"slices"
	"strings"
	"sync"

	"molt/chat"
	"molt/tokenizer"
)

// image is the placeholder of an image.
const image = "<|image|>"

// show is a macro for content that may hold images.
const show = `{%- macro show(content) %}
    {%- if content is string %}
        {{- content }}
    {%- else %}
        {%- for part in content %}
            {{- part.text if part.type == 'text' else '` + image + `' }}
        {%- endfor %}
    {%- endif %}
{%- endmacro %}
`

// Model is a small tokenizer with the built-in chat template, and a placeholder for images, for scripts that belong to no model.
var Model = sync.OnceValues(func() (*chat.Renderer, error) {
	texts := []string{"system user assistant tool the and of to in is that for it with as on this be are",
		`{"name": "", "arguments": {"command": "", "path": "", "description": ""}}`, "function parameters properties required string object type"}
	often := slices.Concat(texts, texts, texts)
	specials := append(chat.BuiltinSpecials(), image)
	tok, err := tokenizer.Train(slices.Values(often), 512, specials, tokenizer.TrainOptions{Visible: chat.BuiltinMarkup()})
	if err != nil {
		return nil, err
	}
	source := show + strings.ReplaceAll(chat.BuiltinTemplate(), "message.content", "show(message.content)")
	template, err := chat.NewJinja(source, chat.JinjaOptions{EOS: "<|im_end|>"})
	if err != nil {
		return nil, err
	}
	return chat.NewRenderer(template, tok)
})
