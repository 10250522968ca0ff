"""Render conversations with chat templates by transformers' own code: render.py CONVERSATIONS.json OUT.jsonl.gz TEMPLATE.jinja...

Each line of OUT is a case: the template's name, the conversation's, whether a generation prompt was asked for, and the text,
or the error that Python raised. Messages reach the template in canonical form: content is a string, or a list of parts where
a message shows images or the template shows nothing but lists; arguments are objects, and a message has reasoning_content,
tool_calls, tool_call_id and name only where they say something.
"""

import datetime
import gzip
import json
import os
import sys

import jinja2
import transformers
from transformers.utils import chat_template_utils

assert (jinja2.__version__, transformers.__version__) == ("3.1.6", "5.24.0"), (jinja2.__version__, transformers.__version__)


class Pinned(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 26, 9, 5, 3)


chat_template_utils.datetime = Pinned


def canonical(message, lists):
    content = message.get("content") or ""
    if lists and isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    out = {"role": message["role"], "content": content}
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


def lists(template):
    """Whether the template shows content only where it is a list of parts."""
    said = "\U0010fffd"
    alone = {"messages": [{"role": "user", "content": said}]}
    shows = [said in render(template, alone, False, as_lists).get("text", "") for as_lists in (False, True)]
    return shows == [False, True]


def render(template, conversation, generate, as_lists):
    try:
        texts, _ = chat_template_utils.render_jinja_template(
            conversations=[[canonical(m, as_lists) for m in conversation["messages"]]], tools=conversation.get("tools"),
            chat_template=template, add_generation_prompt=generate, bos_token="<s>", eos_token="</s>",
            **conversation.get("kwargs", {}))
        return {"text": texts[0]}
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"[:200]}


def main(conversations, out, *paths):
    with open(conversations, encoding="utf-8") as f:
        conversations = json.load(f)
    cases = rendered = 0
    with gzip.GzipFile(out, "wb", mtime=0) as f:
        for path in paths:
            with open(path, encoding="utf-8", newline="") as source:
                template = source.read()
            as_lists = lists(template)
            name = os.path.basename(path).removesuffix(".jinja")
            for c in conversations:
                for generate in (False, True):
                    case = {"template": name, "conversation": c["name"], "generate": generate, **render(template, c, generate, as_lists)}
                    f.write((json.dumps(case, ensure_ascii=False) + "\n").encode())
                    cases, rendered = cases + 1, rendered + ("text" in case)
    print(f"{out}: {len(paths)} templates, {cases} cases, {rendered} render")


if __name__ == "__main__":
    main(*sys.argv[1:])
