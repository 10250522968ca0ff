"""The agent contract.

A file that exports a class `AgentRunner` with a constructor without arguments can be trained:

    from molt.agents import Env, Result, StepEnvRunner

    class Guess(Env):
        async def step(self, state):
            return Result(reward=float(state["label"] in state["action_text"]))

    class AgentRunner(StepEnvRunner):
        def __init__(self):
            super().__init__(Guess)

`StepEnvRunner(EnvClass)`: the framework owns the loop and calls `reset`, `step` and `close`.
`ChatAgentRunner(AgentClass)`: the agent owns the loop and talks to `ctx.base_url` with any OpenAI or Anthropic client.
Every rollout has a new object of the class.
"""

from __future__ import annotations

import abc
import base64
import copy
import dataclasses
import io
import math
import os
import typing

__all__ = ["ChatAgent", "ChatAgentRunner", "ChatContext", "Env", "Result", "Runner", "SamplingParams", "StepEnvRunner"]


class SamplingParams(dict):
    """How a turn is sampled: temperature, top_p, top_k, max_tokens, … as items and as attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value

    def __deepcopy__(self, memo):
        return SamplingParams(copy.deepcopy(dict(self), memo))

    def clone(self):
        return copy.deepcopy(self)


@dataclasses.dataclass
class Result:
    """What a step, or a whole chat, came to.

    A number may be a tensor, list or tuple: its first element counts. The rewards of a rollout's steps are summed;
    `score` (what evaluation counts; None: the reward) and `info` are those of the last step.
    """

    reward: typing.Any = 0.0
    observation: str = ""  # appended as it is, without a template, before the policy's next turn
    terminated: bool = True  # the task has come to its end
    truncated: bool = False  # the environment stops before the end
    info: dict = dataclasses.field(default_factory=dict)  # numbers become metrics; anything else is skipped
    score: typing.Any = None
    # Shown with the observation, which holds the model's placeholder for each: encoded bytes, a path (os.PathLike), a data
    # URI, or an object with convert and save, as PIL's images have. A chat agent's are not used: it shows its own.
    images: list | None = None
    sampling_params: typing.Any = None  # for the turns that follow


class Env(abc.ABC):
    """A world in which the policy acts, one turn at a time."""

    async def reset(self, state: dict) -> dict:
        """Begin. `state` is {"observation": the prompt as the template renders it, "label": …}, and "images" (data URIs)
        where the row has some. What is returned has the same keys; its observation is what the policy sees first."""
        return state

    @abc.abstractmethod
    async def step(self, state: dict) -> Result:
        """`state` is {"observation_text": all text so far without this action, "action_text": what the policy said,
        "label": …, "sampling_params": a copy of this turn's}."""

    async def close(self) -> None:
        """Release what is held. Called exactly once, however the rollout ends, also when `reset` failed."""


@dataclasses.dataclass
class ChatContext:
    """What a chat agent is given."""

    messages: list  # the row's conversation, as OpenAI spells it; images are data URIs
    tools: list | None  # the row's tools
    prompt: str  # the text of the last user message
    label: typing.Any
    images: list
    base_url: str  # for OpenAI clients: …/v1
    session_url: str  # for Anthropic clients: base_url without /v1
    model_name: str
    api_key: str
    session_id: str
    sampling_params: SamplingParams
    max_length: int  # tokens that a rollout may have


class ChatAgent(abc.ABC):
    """An agent that owns its loop."""

    @abc.abstractmethod
    async def run(self, ctx: ChatContext) -> Result:
        """Do the task with as many requests to `ctx.base_url` as it takes; say what it was worth."""


class Runner:
    """How the framework finds the agent's class. Subclass one of the two below."""

    async def execute(self, *args, **kwargs):
        raise NotImplementedError("the framework runs the rollout itself; subclass StepEnvRunner or ChatAgentRunner")


class StepEnvRunner(Runner):
    PRERENDER_PROMPT = True

    def __init__(self, env_class: type[Env]):
        if not (isinstance(env_class, type) and issubclass(env_class, Env)):
            raise TypeError(f"StepEnvRunner wants a class derived from molt.agents.Env, not {env_class!r}")
        self.env_class = env_class


class ChatAgentRunner(Runner):
    PRERENDER_PROMPT = False

    def __init__(self, agent_class: type[ChatAgent]):
        if not (isinstance(agent_class, type) and issubclass(agent_class, ChatAgent)):
            raise TypeError(f"ChatAgentRunner wants a class derived from molt.agents.ChatAgent, not {agent_class!r}")
        self.agent_class = agent_class


def scalar(value, what: str):
    """The first element, however deep; None stays None. What is not a number is a TypeError."""
    while isinstance(value, (list, tuple)) or (hasattr(value, "reshape") and hasattr(value, "tolist")):
        if hasattr(value, "tolist"):
            value = value.tolist()
        if isinstance(value, (list, tuple)):
            if not value:
                return None
            value = value[0]
    if hasattr(value, "item"):
        value = value.item()
    if value is None:
        return None
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"{what} is {value!r}; want a number")
    return float(value)


def checked(result, where: str) -> dict:
    """A Result as the framework reads it. Not-a-number is passed on as text: the framework types it."""
    if not isinstance(result, Result):
        raise TypeError(f"{where} returned {type(result).__name__}; want molt.agents.Result")
    reward = scalar(result.reward, "reward")
    if reward is None:
        raise TypeError(f"{where} returned a Result without a reward")
    if not isinstance(result.observation, str):
        raise TypeError(f"{where} returned an observation of type {type(result.observation).__name__}; want text")
    info = {}
    for key, value in (result.info or {}).items():
        try:
            number = scalar(value, str(key))
        except TypeError:
            continue
        if number is not None and math.isfinite(number):
            info[str(key)] = number
    score = scalar(result.score, "score")
    return {
        "reward": repr(reward),
        "score": None if score is None else repr(score),
        "observation": result.observation,
        "terminated": bool(result.terminated),
        "truncated": bool(result.truncated),
        "info": info,
        "images": pictures(result.images, where),
        "sampling_params": None if result.sampling_params is None else dict(_items(result.sampling_params)),
    }


def pictures(images, where: str) -> list:
    """The encoded bytes of images, in base64."""
    return [base64.b64encode(_encoded(image, f"image {i} of {where}")).decode() for i, image in enumerate(images or [])]


def _encoded(image, what: str) -> bytes:
    if isinstance(image, (bytes, bytearray, memoryview)):
        return bytes(image)
    if isinstance(image, os.PathLike):
        with open(image, "rb") as f:
            return f.read()
    if isinstance(image, str) and image.startswith("data:image/") and ";base64," in image:
        return base64.b64decode(image.split(";base64,", 1)[1], validate=True)
    if hasattr(image, "save") and hasattr(image, "convert"):
        file = io.BytesIO()
        image.convert("RGB").save(file, format="PNG")
        return file.getvalue()
    shown = f"{image[:40]!r}" if isinstance(image, str) else type(image).__name__
    raise TypeError(f"{what} is {shown}; want encoded bytes, a path (pathlib.Path), a data:image/…;base64 URI or an image of PIL")


def _items(params):
    """The settings of a sampling-parameters object of any kind."""
    if isinstance(params, dict):
        return params.items()
    return ((k, v) for k, v in vars(params).items() if not k.startswith("_"))
