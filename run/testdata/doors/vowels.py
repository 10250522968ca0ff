# The vowels of the tests, as an Env: two replies, each worth the share of its vowels.
from molt.agents import Env, Result, StepEnvRunner


def share(text):
    return sum(c in "aeiou" for c in text) / max(1, len(text.encode()))


class Vowels(Env):
    async def reset(self, state):
        self.asked, self.turn = state["observation"].split("user\n")[1].split("<|im_end|>")[0], 0
        return state

    async def step(self, state):
        text = state["action_text"]
        said = text.removesuffix("<|im_end|>")
        reward, self.turn = share(said), self.turn + 1
        closed = "" if text.endswith("<|im_end|>") else "<|im_end|>"
        again = f"{closed}\n<|im_start|>user\nagain: {self.asked}<|im_end|>\n<|im_start|>assistant\n"
        return Result(reward=reward, score=float(round(4 * reward)), observation=again, terminated=self.turn == 2, info={"bytes": len(said.encode())})


class AgentRunner(StepEnvRunner):
    def __init__(self):
        super().__init__(Vowels)
