# The same as a conversation over either wire; prints or returns the sum.
import json
import os
import sys
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def share(text):
    return sum(c in "aeiou" for c in text) / max(1, len(text.encode()))


def ask(wire, url, key, model, messages):
    if wire == "openai":
        url, headers, body = url + "/chat/completions", {"Authorization": "Bearer " + key}, {"model": model, "messages": messages}
    else:
        url, headers, body = url + "/v1/messages", {"x-api-key": key}, {"model": model, "max_tokens": 5, "messages": messages}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request) as reply:
        reply = json.load(reply)
    if wire == "openai":
        messages.append(reply["choices"][0]["message"])
        return reply["choices"][0]["message"]["content"] or ""
    messages.append({"role": "assistant", "content": reply["content"]})
    return "".join(block.get("text", "") for block in reply["content"])


def talk(wire, url, key, model, question):
    messages, total = [{"role": "user", "content": question}], 0.0
    for turn in range(2):
        last = share(ask(wire, url, key, model, messages))
        total += last
        messages.append({"role": "user", "content": "again: " + question})
    return total, float(round(4 * last))


try:
    from molt.agents import ChatAgent, ChatAgentRunner, Result

    class Vowels(ChatAgent):
        async def run(self, ctx):
            import asyncio

            reward, score = await asyncio.to_thread(talk, "openai", ctx.base_url, ctx.api_key, ctx.model_name, ctx.prompt)
            return Result(reward=reward, score=score)

    class AgentRunner(ChatAgentRunner):
        def __init__(self):
            super().__init__(Vowels)
except ImportError:
    pass

if __name__ == "__main__":
    wire = sys.argv[1]
    url = os.environ["OPENAI_BASE_URL" if wire == "openai" else "ANTHROPIC_BASE_URL"]
    reward, score = talk(wire, url, os.environ["OPENAI_API_KEY"], os.environ["OPENAI_MODEL"], open(os.environ["MOLT_PROMPT_FILE"]).read())
    print(json.dumps({"reward": reward, "score": score}))
