"""The shop as a ChatAgent: the agent owns its loop and talks to the policy as it would to any OpenAI-compatible server."""

import asyncio

from molt.agents import ChatAgent, ChatAgentRunner, ChatContext, Result

from chat import OpenAI, play


class Shop(ChatAgent):
    async def run(self, ctx: ChatContext) -> Result:
        client = OpenAI(ctx.base_url, ctx.api_key, ctx.model_name)
        return Result(reward=await asyncio.to_thread(play, client, ctx.prompt, ctx.label))


class AgentRunner(ChatAgentRunner):
    def __init__(self):
        super().__init__(Shop)
