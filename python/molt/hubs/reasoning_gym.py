"""Environments of reasoning-gym (`pip install reasoning-gym`): one question, one answer, a score between 0 and 1.

    python -m molt.hubs.reasoning_gym countdown --size 500 --out countdown.jsonl
    molt rl --train.agent_path hub:reasoning_gym --data.prompt countdown.jsonl …
"""

from __future__ import annotations

import functools
import hashlib
import json

from molt.agents import Env, Result, StepEnvRunner
from molt.hubs import rows


@functools.lru_cache(maxsize=256)
def dataset(name: str, size: int, seed: int, config: str):
    import reasoning_gym as gym

    return gym.create_dataset(name, size=size, seed=seed, **json.loads(config))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Question(Env):
    async def step(self, state):
        from reasoning_gym.utils import extract_answer

        label = json.loads(state["label"])
        made = dataset(label["dataset"], label["size"], label["seed"], json.dumps(label["config"], sort_keys=True))
        entry = made[label["index"]]
        if digest(entry["question"]) != label["question"]:
            raise RuntimeError("this version of reasoning-gym makes other questions than the one that made the prompts; make them again")
        answer = extract_answer(state["action_text"])
        return Result(reward=made.score_answer(answer, entry), info={"answered": answer is not None})


class AgentRunner(StepEnvRunner):
    def __init__(self):
        super().__init__(Question)


def tasks(name: str, size: int, seed: int, config: dict, system: str):
    from reasoning_gym.utils import SYSTEM_PROMPTS

    for index, entry in enumerate(dataset(name, size, seed, json.dumps(config, sort_keys=True))):
        messages = [{"role": "system", "content": SYSTEM_PROMPTS[system]}, {"role": "user", "content": entry["question"]}]
        label = {"dataset": name, "config": config, "size": size, "seed": seed, "index": index, "question": digest(entry["question"])}
        yield rows.row(messages, label, name)


def main():
    p = rows.parser(__doc__)
    p.add_argument("dataset")
    p.add_argument("--system", default="default", help="which of reasoning-gym's system prompts")
    a = p.parse_args()
    rows.write(tasks(a.dataset, a.size, a.seed, a.config, a.system), a.out)


if __name__ == "__main__":
    main()
