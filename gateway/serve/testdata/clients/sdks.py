"""The Python libraries against the same script as sdks.mjs, in the same words. Usage: python sdks.py SERVER."""

import asyncio
import json
import re
import sys
import urllib.request

import anthropic
import openai
from agents import Agent, AgentOutputSchema, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field

server = sys.argv[1]
s = json.load(urllib.request.urlopen(urllib.request.Request(server + "/sessions", method="POST")))
RETRIES = 1  # one refusal is forgiven: it must be of the kind that libraries repeat

city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
wrong = {**city, "required": ["city", "country"]}  # libraries leave out what they know to be too much; this they pass on


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
URL = "data:image/png;base64," + PIXEL
IMAGE = {"type": "image_url", "image_url": {"url": URL}}  # as each wire has it
INPUT = {"type": "input_image", "image_url": URL, "detail": "auto"}
BLOCK = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}


def says(text, shown=None, kind="text"):
    """What a user says, and shows behind it."""
    return [{"role": "user", "content": [{"type": kind, "text": text}, shown] if shown else text}]


# Each library asks, runs the calls it is answered with, and gives back the last text, the city of each call, and the tokens in
# and out of the last turn.

oa = openai.OpenAI(base_url=s["openai_base_url"], api_key=s["api_key"], max_retries=RETRIES)


def chat(prompt, tools=False, schema=None, stream=False, image=False):
    calls, q = [], {"model": "m", "messages": says(prompt, image and IMAGE)}
    if tools:
        q["tools"] = [{"type": "function", "function": {"name": "get_weather", "parameters": city, "strict": True}}]
    if schema:
        q["response_format"] = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": schema}}
    while True:
        if stream:
            with oa.chat.completions.stream(**q, stream_options={"include_usage": True}) as events:
                r = events.get_final_completion()
        else:
            r = oa.chat.completions.create(**q)
        m = r.choices[0].message
        if not m.tool_calls:
            return m.content, calls, (r.usage.prompt_tokens, r.usage.completion_tokens)
        q["messages"].append({"role": "assistant", "content": m.content, "tool_calls": [
            {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}} for c in m.tool_calls]})
        for c in m.tool_calls:
            calls.append(json.loads(c.function.arguments)["city"])
            q["messages"].append({"role": "tool", "tool_call_id": c.id, "content": "sunny"})


def responses(prompt, tools=False, schema=None, stream=False, image=False):
    calls, q = [], {"model": "m", "input": says(prompt, image and INPUT, "input_text")}
    if tools:
        q["tools"] = [{"type": "function", "name": "get_weather", "description": "w", "parameters": city, "strict": True}]
    if schema:
        q["text"] = {"format": {"type": "json_schema", "name": "place", "strict": True, "schema": schema}}
    while True:
        if stream:
            with oa.responses.stream(**q) as events:
                r = events.get_final_response()
        else:
            r = oa.responses.create(**q)
        made = [x for x in r.output if x.type == "function_call"]
        if not made:
            return r.output_text, calls, (r.usage.input_tokens, r.usage.output_tokens)
        q["input"] += [{"type": "function_call", "call_id": c.call_id, "name": c.name, "arguments": c.arguments} for c in made]
        for c in made:
            calls.append(json.loads(c.arguments)["city"])
            q["input"].append({"type": "function_call_output", "call_id": c.call_id, "output": "sunny"})


an = anthropic.Anthropic(base_url=s["base_url"], api_key=s["api_key"], max_retries=RETRIES)


def messages(prompt, tools=False, schema=None, stream=False, image=False):
    calls, q = [], {"model": "m", "max_tokens": 100, "messages": says(prompt, image and BLOCK)}
    if tools:
        q["tools"] = [{"name": "get_weather", "input_schema": city}]
    if schema:
        q["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    while True:
        if stream:
            with an.messages.stream(**q) as events:
                r = events.get_final_message()
        else:
            r = an.messages.create(**q)
        made = [b for b in r.content if b.type == "tool_use"]
        if not made:
            return r.content[0].text, calls, (r.usage.input_tokens, r.usage.output_tokens)
        assert r.stop_reason == "tool_use", r.stop_reason
        calls += [c.input["city"] for c in made]
        q["messages"] += [{"role": "assistant", "content": r.content},
                          {"role": "user", "content": [{"type": "tool_result", "tool_use_id": c.id, "content": "sunny"} for c in made]}]


class Place(BaseModel):
    city: str


class Wrong(BaseModel):
    city: str = Field(json_schema_extra={"type": "sting"})


set_tracing_disabled(True)


def agents(Model):
    def ask(prompt, tools=False, schema=None, stream=False, image=False):
        return asyncio.run(play(says(prompt, image and INPUT, "input_text"), tools, schema, stream))

    async def play(prompt, tools, schema, stream):
        async with openai.AsyncOpenAI(base_url=s["openai_base_url"], api_key=s["api_key"], max_retries=RETRIES) as client:
            return await converse(client, prompt, tools, schema, stream)

    async def converse(client, prompt, tools, schema, stream):
        calls = []

        @function_tool
        def get_weather(city: str) -> str:
            """The weather in a city."""
            calls.append(city)
            return "sunny"

        kind = Wrong if schema is wrong else Place
        agent = Agent(name="a", instructions="Be kind.", model=Model(model="m", openai_client=client), tools=[get_weather] if tools else [],
                      output_type=AgentOutputSchema(kind) if schema else None, model_settings=ModelSettings(include_usage=True))
        if stream:
            r = Runner.run_streamed(agent, prompt, max_turns=3)
            async for _ in r.stream_events():
                pass
        else:
            r = await Runner.run(agent, prompt, max_turns=3)
        usage = r.raw_responses[-1].usage
        text = r.final_output.model_dump_json() if schema else r.final_output
        return text, calls, (usage.input_tokens, usage.output_tokens)

    return ask


def langchain(model):
    def ask(prompt, tools=False, schema=None, stream=False, image=False):
        calls = []
        if schema:
            r = model.with_structured_output({"title": "place", "description": "A place.", **schema}, method="json_schema", include_raw=True).invoke(prompt)
            used = r["raw"].usage_metadata
            return json.dumps(r["parsed"]), calls, (used["input_tokens"], used["output_tokens"])
        bound = model.bind_tools([{"type": "function", "function": {"name": "get_weather", "description": "w", "parameters": city}}]) if tools else model
        said = [HumanMessage(says(prompt, image and IMAGE)[0]["content"])]
        while True:
            if stream:
                r = None
                for piece in bound.stream(said):
                    r = piece if r is None else r + piece
            else:
                r = bound.invoke(said)
            if not r.tool_calls:
                return r.text, calls, (r.usage_metadata["input_tokens"], r.usage_metadata["output_tokens"])
            said.append(r)
            for c in r.tool_calls:
                calls.append(c["args"]["city"])
                said.append(ToolMessage("sunny", tool_call_id=c["id"]))

    return ask


plain = {"model": "m", "api_key": s["api_key"], "max_retries": RETRIES}
libraries = {
    "openai chat": chat,
    "openai responses": responses,
    "anthropic": messages,
    "agents chat": agents(OpenAIChatCompletionsModel),
    "agents responses": agents(OpenAIResponsesModel),
    "langchain chat": langchain(ChatOpenAI(base_url=s["openai_base_url"], stream_usage=True, **plain)),
    "langchain responses": langchain(ChatOpenAI(base_url=s["openai_base_url"], use_responses_api=True, **plain)),
    "langchain anthropic": langchain(ChatAnthropic(base_url=s["base_url"], **plain)),
}


def refused(case, status, words):
    """Runs what must fail with a status and words."""
    try:
        return case()
    except Exception as e:
        x = e
        while x is not None:
            if getattr(x, "status_code", None) == status and re.search(words, str(x)):
                return True
            x = x.__cause__
        return repr(e)


def counted(usage):
    return all(type(n) is int and n > 0 for n in usage)


def greets(r):
    text, calls, usage = r
    return (text == "Hello there." and not calls and counted(usage)) or r


def looks(r, *cities):
    text, calls, usage = r
    return (text == "It is sunny." and calls == list(cities) and counted(usage)) or r


def conforms(r):
    text, _, usage = r
    return (json.loads(text) == {"city": "Oslo"} and counted(usage)) or r


def sees(r):
    text, _, usage = r
    return (text == "One pixel." and counted(usage)) or r


features = {
    "chat": lambda ask: greets(ask("hi")),
    "streaming": lambda ask: greets(ask("hi", stream=True)),
    "tools": lambda ask: looks(ask("ONE", tools=True), "Oslo"),
    "parallel tools": lambda ask: looks(ask("PARALLEL", tools=True), "Oslo", "Rome"),
    "streamed tools": lambda ask: looks(ask("PARALLEL", tools=True, stream=True), "Oslo", "Rome"),
    "schema": lambda ask: conforms(ask("SCHEMA", schema=city)),
    "bad schema": lambda ask: refused(lambda: ask("SCHEMA", schema=wrong), 400, "country|sting"),
    "overflow": lambda ask: refused(lambda: ask("long " * 40000), 400, "maximum context length|prompt is too long"),
    "image": lambda ask: sees(ask("look", image=True)),
    "overload": lambda ask: greets(ask("AWAY")),
}


def reasoning():
    with oa.responses.stream(model="m", input="THINK") as stream:
        r = stream.get_final_response()
    return (r.output_text == "Forty-two." and r.output[0].type == "reasoning") or r


def shown_by_tool():
    call, result = {"type": "tool_use", "id": "a", "name": "f", "input": {}}, {"type": "tool_result", "tool_use_id": "a", "content": [BLOCK]}
    history = [*says("look"), {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return an.messages.create(model="m", max_tokens=100, messages=history).content[0].text == "One pixel."


def elsewhere():
    shown = {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}
    return oa.chat.completions.create(model="m", messages=says("look", shown))


tool = {"type": "function", "function": {"name": "get_weather", "parameters": city}}


def must_call():
    for choice in ("required", {"type": "function", "function": {"name": "get_weather"}}):
        r = oa.chat.completions.create(model="m", messages=says("ONE"), tools=[tool], tool_choice=choice, parallel_tool_calls=False)
        if r.choices[0].finish_reason != "tool_calls":
            return r
    r = an.messages.create(model="m", max_tokens=100, messages=says("ONE"), tools=[{"name": "get_weather", "input_schema": city}], tool_choice={"type": "any"})
    return r.stop_reason == "tool_use" or r


def top_logprobs():
    r = oa.chat.completions.create(model="m", messages=says("hi"), logprobs=True, top_logprobs=3)
    q = oa.responses.create(model="m", input="hi", include=["message.output_text.logprobs"], top_logprobs=3)
    return len(r.choices[0].logprobs.content[0].top_logprobs) == len(q.output[0].content[0].logprobs[0].top_logprobs) == 3 or (r, q)


def extra_body():
    asked = {"repetition_penalty": 1.1, "min_p": 0.01, "top_k": 50, "min_tokens": 1, "stop_token_ids": [1], "chat_template_kwargs": {"enable_thinking": False}}
    return oa.chat.completions.create(model="m", messages=says("hi"), extra_body=asked).choices[0].message.content == "Hello there."


also = {
    "a call that must come": must_call,
    "a call that is not strict": lambda: refused(lambda: oa.chat.completions.create(
        model="m", messages=says("STRAY"), tools=[{"type": "function", "function": {**tool["function"], "strict": True}}]), 400, "does not allow"),
    "top_logprobs": top_logprobs,
    "options of vLLM": extra_body,
    "image of a tool": shown_by_tool,
    "image elsewhere": lambda: refused(elsewhere, 400, "not fetched"),
    "completions, logprobs": lambda: oa.completions.create(model="m", prompt="hi", max_tokens=50, logprobs=1).choices[0].logprobs.token_logprobs[0] <= 0,
    "reasoning": reasoning,
    "count_tokens": lambda: an.messages.count_tokens(model="m", messages=says("hi")).input_tokens > 3,
    "models": lambda: len(list(oa.models.list())) == 1 and len(list(an.models.list())) == 1,
    "unknown tool": lambda: refused(lambda: an.messages.create(model="m", max_tokens=9, messages=says("hi"), tools=[{"name": "x", "type": "bash_20250124"}]), 400, "."),
    "wrong key": lambda: refused(lambda: openai.OpenAI(base_url=server + "/v1", api_key="x", max_retries=0).models.list(), 401, "."),
}


def report(library, feature, case):
    """Runs a case, which returns True or what it got instead."""
    try:
        got = case()
    except Exception as e:  # whatever it is, it is the case's failure
        got = repr(e)
    print(library, feature, "ok" if got is True else re.sub(r"\s+", " ", str(got))[:600], sep="\t", flush=True)


for library, ask in libraries.items():
    for feature, case in features.items():
        report(library, feature, lambda: case(ask))
for name, case in also.items():
    report("also", name, case)
