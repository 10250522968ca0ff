"""The shop's loop over either wire, with nothing but the standard library."""

import json
import urllib.request

from world import TURNS, World, parse_calls


def post(url: str, key: str, body: dict, headers: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=300) as reply:
        return json.load(reply)


# No tools are offered, because the policy learned theirs from demonstrations without a list. Its calls then arrive as text,
# and this agent reads them; what they answer goes back as the results of tools.


class OpenAI:
    """Chat Completions."""

    def __init__(self, url: str, key: str, model: str):
        self.url, self.key, self.model = url + "/chat/completions", key, model

    def ask(self, messages: list) -> tuple:
        body = {"model": self.model, "messages": messages}
        choice = post(self.url, self.key, body, {"Authorization": "Bearer " + self.key})["choices"][0]
        messages.append(choice["message"])
        return choice["message"]["content"] or "", choice["finish_reason"] == "length"

    def answer(self, messages: list, answers: list):
        messages.extend({"role": "tool", "tool_call_id": f"call_{len(messages)}_{i}", "content": text} for i, text in enumerate(answers))


class Anthropic:
    """Messages."""

    def __init__(self, url: str, key: str, model: str):
        self.url, self.key, self.model = url + "/v1/messages", key, model

    def ask(self, messages: list) -> tuple:
        body = {"model": self.model, "max_tokens": 48, "messages": messages}
        reply = post(self.url, self.key, body, {"x-api-key": self.key, "anthropic-version": "2023-06-01"})
        messages.append({"role": "assistant", "content": reply["content"]})
        content = "".join(b["text"] for b in reply["content"] if b["type"] == "text")
        return content, reply["stop_reason"] == "max_tokens"

    def answer(self, messages: list, answers: list):
        results = [{"type": "tool_result", "tool_use_id": f"call_{len(messages)}_{i}", "content": text} for i, text in enumerate(answers)]
        messages.append({"role": "user", "content": results})


def play(client, question: str, label: str) -> float:
    """One episode; its reward."""
    world, messages = World(label), [{"role": "user", "content": question}]
    for _ in range(TURNS):
        content, cut = client.ask(messages)
        if cut:
            return 0.0
        reward, answers = world.reply(content, parse_calls(content))
        if answers is None:
            return reward
        client.answer(messages, answers)
    return 0.0
