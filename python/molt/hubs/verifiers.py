"""Environments of verifiers (`pip install verifiers`, 0.4 or later): the environment plays its own episodes against the
rollout's address, with its own harness, tools and rubric.

    python -m molt.hubs.verifiers my-taskset --size 500 --out tasks.jsonl
    molt rl --train.agent_path hub:verifiers --data.prompt tasks.jsonl …

The reward of an episode is the sum of the rewards of its trainable agents' traces. Every agent that is not given a model
of its own plays with the policy, so an environment with judges should pin theirs.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os

from molt.agents import ChatAgent, ChatAgentRunner, ChatContext, Result
from molt.hubs import rows

KEY = "MOLT_VERIFIERS_KEY"  # verifiers reads keys from variables; the address alone opens the session


class World:
    """One environment that is served as long as the process lives."""

    def __init__(self, config: dict):
        import verifiers.v1 as vf

        self.env = vf.load_environment(vf.resolve_env_config(config))
        self.tasks = {}
        self.unread = iter(self.env.taskset)
        self.stack = contextlib.AsyncExitStack()

    def task(self, index: int):
        while index not in self.tasks:
            task = next(self.unread, None)
            if task is None:
                raise LookupError(f"the task set has no task {index}")
            self.tasks[task.data.idx] = task
        return self.tasks[index]


worlds: dict[str, asyncio.Task] = {}


async def world(config: dict) -> World:
    """The environment of a configuration, started once."""

    async def begin():
        w = World(config)
        await w.stack.enter_async_context(w.env.serving())
        return w

    key = json.dumps(config, sort_keys=True)
    if key not in worlds:
        worlds[key] = asyncio.ensure_future(begin())
    try:
        return await asyncio.shield(worlds[key])
    except Exception:
        worlds.pop(key, None)
        raise


class Episode(ChatAgent):
    async def run(self, ctx: ChatContext) -> Result:
        import verifiers.v1 as vf

        os.environ.setdefault(KEY, "session")
        label = json.loads(ctx.label)
        w = await world(label["env"])
        sampling = {k: ctx.sampling_params[k] for k in ("temperature", "top_p", "max_tokens") if ctx.sampling_params.get(k)}
        client = vf.EvalClientConfig(base_url=ctx.base_url, api_key_var=KEY, headers={"Authorization": "Bearer " + ctx.api_key})
        model = vf.ModelContext(model=ctx.model_name, client=client, sampling=vf.SamplingConfig(**sampling))
        episode = await w.env.run_episode(w.task(label["index"]), model)
        if not episode.ok:
            errors = [*episode.errors, *(e for t in episode.traces for e in t.errors)]
            raise RuntimeError("; ".join(f"{e.type}: {e.message}" for e in errors[:3]) or "the episode failed")
        trained = [t for t in episode.traces if t.agent.trainable]
        info = {name: value for t in trained for name, value in t.metrics.items() if value is not None}
        return Result(reward=sum(t.reward for t in trained), info=info)


class AgentRunner(ChatAgentRunner):
    def __init__(self):
        super().__init__(Episode)


def tasks(env: dict, size: int):
    import verifiers.v1 as vf

    loaded = vf.load_environment(vf.resolve_env_config(env))
    for task in loaded.taskset.take(size):
        prompt = task.data.prompt
        messages = [{"role": "user", "content": prompt if isinstance(prompt, str) else task.data.name or f"task {task.data.idx}"}]
        if task.data.system_prompt:
            messages.insert(0, {"role": "system", "content": task.data.system_prompt})
        yield rows.row(messages, {"env": env, "index": task.data.idx}, env["taskset"]["id"])


def main():
    p = rows.parser(__doc__)
    p.add_argument("taskset", help="the id of an installed task set; --config holds the rest of the env block")
    a = p.parse_args()
    env = {**a.config, "taskset": {**a.config.get("taskset", {}), "id": a.taskset}}
    rows.write(tasks(env, a.size), a.out)


if __name__ == "__main__":
    main()
