# A ChatAgent that reports what it was given.
import json
import urllib.request

from molt.agents import ChatAgent, ChatAgentRunner, ChatContext, Result


class Talk(ChatAgent):
    async def run(self, ctx: ChatContext) -> Result:
        body = json.dumps({"model": ctx.model_name, "messages": ctx.messages, "tools": ctx.tools}).encode()
        request = urllib.request.Request(ctx.base_url + "/chat/completions", body, {"Authorization": "Bearer " + ctx.api_key})
        with urllib.request.urlopen(request) as reply:
            said = json.load(reply)["choices"][0]["message"]["content"]
        return Result(reward=said == ctx.label, info={"length": ctx.max_length, "top_p": ctx.sampling_params.top_p})


class AgentRunner(ChatAgentRunner):
    def __init__(self):
        super().__init__(Talk)
