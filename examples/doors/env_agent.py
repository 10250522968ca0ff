"""The shop as an Env: the framework owns the loop, and this file writes the model's turn markers."""

from molt.agents import Env, Result, StepEnvRunner

from world import TURNS, World, parse_calls


class Shop(Env):
    async def reset(self, state):
        self.world, self.turn = World(state["label"]), 0
        return state

    async def step(self, state):
        self.turn += 1
        text = state["action_text"]
        if not text.endswith("<|im_end|>"):
            return Result(truncated=True, terminated=False)
        text = text.removesuffix("<|im_end|>")
        reward, answers = self.world.reply(text, parse_calls(text))
        if answers is None:
            return Result(reward=reward)
        said = "".join(f"\n<tool_response>\n{a}\n</tool_response>" for a in answers)
        return Result(observation=f"\n<|im_start|>user{said}<|im_end|>\n<|im_start|>assistant\n", terminated=False, truncated=self.turn >= TURNS)


class AgentRunner(StepEnvRunner):
    def __init__(self):
        super().__init__(Shop)
