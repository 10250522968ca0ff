# An Env that is asked a word and answers hints; its label says how it shall misbehave.
import asyncio
import os
import sys
import time

from molt.agents import Env, Result, StepEnvRunner

print("loaded", file=sys.stdout)


class Guess(Env):
    async def reset(self, state):
        assert set(state) == {"observation", "label"}, state
        if state["label"] == "reset fails":
            raise ValueError("no such word")
        self.turns = 0
        return {"observation": state["observation"] + "go>", "label": state["label"].upper()}

    async def step(self, state):
        assert set(state) == {"observation_text", "action_text", "label", "sampling_params"}, state
        assert state["sampling_params"].temperature == (1.0 if self.turns == 0 else 0.5)
        state["sampling_params"].temperature = 99  # a copy
        self.turns += 1
        label, said = state["label"], state["action_text"]
        if label == "SLEEPS":
            await asyncio.sleep(60)
        if label == "BLOCKS":
            time.sleep(60)
        if label == "DIES":
            print("last words")
            os._exit(3)
        if label == "NAN":
            return Result(reward=float("nan"))
        if label == "NOTHING":
            return None
        if label == "GREEDY":
            return Result(sampling_params={"temperature": 0})
        if said == label:
            return Result(reward=[[1]], score=0.5, info={"turns": self.turns, "word": "a"}, observation="<text>" + state["observation_text"])
        return Result(reward=0.25, observation="no>", terminated=False, sampling_params={"temperature": 0.5})

    async def close(self):
        print("closed", flush=True)


class AgentRunner(StepEnvRunner):
    def __init__(self):
        super().__init__(Guess)
