"""Render conversations with chat templates exactly as transformers' apply_chat_template does, without transformers.

render.py CONVERSATIONS.json OUT.json NAME=TEMPLATE.jinja...

Messages reach the template in canonical form: content is always a string, arguments are objects, and a message has
reasoning_content, tool_calls, tool_call_id and name only where they say something.
"""

import json
import sys

import jinja2
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

assert jinja2.__version__ == "3.1.6", jinja2.__version__


class Generation(Extension):
    """{% generation %} marks what the assistant says; it renders its body."""

    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def compile_template(source):
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda fmt: {"%d %b %Y": "26 Jul 2024", "%Y-%m-%d": "2024-07-26"}[fmt]
    return env.from_string(source)


def canonical(message):
    out = {"role": message["role"], "content": message.get("content") or ""}
    if message.get("reasoning_content"):
        out["reasoning_content"] = message["reasoning_content"]
    if message.get("tool_calls"):
        out["tool_calls"] = [canonical_call(c) for c in message["tool_calls"]]
    for key in ("tool_call_id", "name"):
        if message.get(key):
            out[key] = message[key]
    return out


def canonical_call(call):
    out = {"type": "function"}
    if call.get("id"):
        out["id"] = call["id"]
    out["function"] = {"name": call["name"], "arguments": call["arguments"]}
    return out


def render(template, conversation, generate):
    try:
        text = template.render(
            messages=[canonical(m) for m in conversation["messages"]], tools=conversation.get("tools"),
            add_generation_prompt=generate, bos_token="<s>", eos_token="</s>", **conversation.get("kwargs", {}))
        return {"text": text}
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"}


def main(conversations, out, *templates):
    cases = []
    for pair in templates:
        name, path = pair.split("=", 1)
        with open(path, encoding="utf-8", newline="") as f:
            template = compile_template(f.read())
        with open(conversations, encoding="utf-8") as f:
            for c in json.load(f):
                for generate in (False, True):
                    cases.append({"template": name, "conversation": c["name"], "generate": generate,
                                  **render(template, c, generate)})
    with open(out, "w", encoding="utf-8") as f:
        json.dump(cases, f, ensure_ascii=False, indent=1)
        f.write("\n")
    print(f"{out}: {len(cases)} cases, jinja2 {jinja2.__version__}")


if __name__ == "__main__":
    main(*sys.argv[1:])
