"""The two Python libraries against the same server as sdks.mjs. Usage: python sdks.py SERVER."""

import json
import sys
import urllib.request

import anthropic
import openai

server = sys.argv[1]
s = json.load(urllib.request.urlopen(urllib.request.Request(server + "/sessions", method="POST")))
oa = openai.OpenAI(base_url=s["openai_base_url"], api_key=s["api_key"], max_retries=0)
an = anthropic.Anthropic(base_url=s["base_url"], api_key=s["api_key"], max_retries=0)
good = bad = 0


def check(case):
    """Runs a case, which returns True or what it got instead."""
    global good, bad
    try:
        got = case()
    except Exception as e:  # whatever it is, it is the case's failure
        got = repr(e)
    if got is True:
        good += 1
    else:
        bad += 1
        print(f"{case.__name__}: {got!s:.800}")
    return case


city = {"type": "object", "properties": {"city": {"type": "string"}}}
chat_tools = [{"type": "function", "function": {"name": "get_weather", "parameters": city}}]
message_tools = [{"name": "get_weather", "input_schema": city}]


def says(text):
    return [{"role": "user", "content": text}]


@check
def chat():
    r = oa.chat.completions.create(model="m", messages=says("hi"))
    return (r.choices[0].message.content == "Hello there." and r.usage.total_tokens > 0) or r


@check
def chat_stream():
    with oa.chat.completions.stream(model="m", messages=says("PARALLEL"), tools=chat_tools, stream_options={"include_usage": True}) as stream:
        r = stream.get_final_completion()
    return (len(r.choices[0].message.tool_calls) == 2 and r.usage.prompt_tokens > 0) or r


@check
def completions():
    r = oa.completions.create(model="m", prompt="hi", max_tokens=50, logprobs=1)
    return r.choices[0].logprobs.token_logprobs[0] <= 0 or r


@check
def responses():
    r = oa.responses.create(model="m", input="hi")
    return r.output_text == "Hello there." or r


@check
def responses_stream():
    with oa.responses.stream(model="m", input="THINK") as stream:
        r = stream.get_final_response()
    return (r.output_text == "Forty-two." and r.output[0].type == "reasoning") or r


@check
def messages():
    r = an.messages.create(model="m", max_tokens=99, messages=says("hi"))
    return r.content[0].text == "Hello there." or r


@check
def messages_stream():
    with an.messages.stream(model="m", max_tokens=99, messages=says("PARALLEL"), tools=message_tools) as stream:
        r = stream.get_final_message()
    return ([b.type for b in r.content] == ["text", "tool_use", "tool_use"] and r.content[2].input == {"city": "Rome"}) or r


@check
def count_tokens():
    return an.messages.count_tokens(model="m", messages=says("hi")).input_tokens > 3


@check
def models():
    return len(list(oa.models.list())) == 1 and len(list(an.models.list())) == 1


@check
def bad_request():
    try:
        return an.messages.create(model="m", max_tokens=9, messages=says("hi"), tools=[{"name": "x", "type": "bash_20250124"}])
    except anthropic.BadRequestError:
        return True


@check
def wrong_key():
    try:
        return openai.OpenAI(base_url=server + "/v1", api_key="x", max_retries=0).models.list()
    except openai.AuthenticationError:
        return True


print(f"{good} good, {bad} bad")
sys.exit(1 if bad else 0)
